import Foundation

#if canImport(os)
  import os
#endif

/// Where `log()` writes to.
enum DeveloperLog {
  static func write(_ text: String) {
    #if canImport(os)
      // Private, as it is by default: what a value holds is for the developer who attached a debugger.
      Logger(subsystem: "EKNetwork", category: "prism").debug("\(text)")
    #else
      try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    #endif
  }
}
