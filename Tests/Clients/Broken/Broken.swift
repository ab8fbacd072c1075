import EKNetwork

// Must not compile: it shows that the check can fail.
let broken: NetworkManager = 1
