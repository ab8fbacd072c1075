import Foundation

#if canImport(os)
  import os
#endif

/// A value that an API sends or receives. It only needs to conform to `Codable` and `Hashable`, which the compiler
/// synthesises: `struct User: PrismEntity { let id: String }` is complete.
///
/// `SendableMetatype` has no requirements. In a module that is main-actor isolated by default, it makes the
/// conformances of entities nonisolated, so that they can be decoded anywhere.
public protocol PrismEntity: Codable, Equatable, Hashable, CustomStringConvertible, PrismLogger, SendableMetatype {}

extension PrismEntity {
  /// The value as JSON with sorted keys; the name of the type if the value cannot be encoded.
  public var description: String {
    let encoder = EndpointBody.encoder
    encoder.outputFormatting.insert(.prettyPrinted)
    guard let data = try? encoder.encode(self) else { return String(describing: Self.self) }
    return String(decoding: data, as: UTF8.self)
  }

  /// Writes ``description``, which contains the whole value, to the log.
  public func log() { DeveloperLog.write(description) }
}

/// Allows a list to be the response to a request.
extension Array: PrismLogger where Element: PrismEntity {
  /// Writes the descriptions of all elements to the log.
  public func log() { DeveloperLog.write(description) }
}

extension Array: PrismEntity where Element: PrismEntity {}

/// A type that can log a description of itself for a developer.
public protocol PrismLogger {
  /// Writes a description to the log: the unified log on Apple's platforms, standard error elsewhere.
  func log()
}

extension PrismNetworkError: PrismLogger {
  /// Writes ``description`` to the log.
  public func log() { DeveloperLog.write(description) }
}

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
