import EKNetwork

// Must not compile: this shows that the check can fail.
let broken: NetworkManager = 1
