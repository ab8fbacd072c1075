import Foundation

#if canImport(os)
  import os
#endif

/// The log that `log()` writes to.
enum DeveloperLog {
  /// Writes what is requested, from where, and with which fields, whose values may be secret.
  static func write(_ kind: String, _ target: String, fields: [String: String]) {
    let names = fields.keys.sorted().joined(separator: ", ")
    write("\(kind) \(target)" + (names.isEmpty ? "" : " [\(names)]"))
  }

  static func write(_ text: String) {
    #if canImport(os)
      // Private, which is the default: the content of a value is only for a developer with a debugger attached.
      Logger(subsystem: "EKNetwork", category: "prism").debug("\(text)")
    #else
      try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    #endif
  }
}
