/// What a machine has and another one has not.
enum Machine {
  /// Whether all of 127.0.0.0/8 is this machine. On Apple's systems 127.0.0.1 alone is, and the rest leads nowhere.
  static var hasManyLoopbackAddresses: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }
}
