import Foundation

/// A value that an API sends or receives. It only needs to conform to `Codable` and `Hashable`, which the compiler
/// synthesises: `struct User: PrismEntity { let id: String }` is complete.
///
/// `SendableMetatype` has no requirements. In a module that is main-actor isolated by default, it makes the
/// conformances of entities nonisolated, so that they can be decoded anywhere.
public protocol PrismEntity: Codable, Equatable, Hashable, CustomStringConvertible, PrismLogger, SendableMetatype {}

extension PrismEntity {
  /// The name of the type, and the value as JSON with sorted keys.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let name = String(describing: Self.self)
    guard let data = try? encoder.encode(self) else { return name }
    return name + " " + String(decoding: data, as: UTF8.self)
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
