import Foundation

/// Features that differ between machines.
enum Machine {
  /// Whether all of 127.0.0.0/8 is this machine. On Apple's systems only 127.0.0.1 is, and the rest is unreachable.
  static var hasManyLoopbackAddresses: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }

  #if os(Linux)
    /// Whether a shared library is installed.
    static func hasLibrary(_ name: String) -> Bool {
      guard let handle = dlopen(name, RTLD_NOW) else { return false }
      dlclose(handle)
      return true
    }
  #endif
}
