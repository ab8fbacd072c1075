import Foundation

/// A value that an API sends or receives. It only needs to conform to `Codable` and `Hashable`, which the compiler
/// synthesises: `struct User: PrismEntity { let id: String }` is complete.
///
/// `SendableMetatype` has no requirements. In a module that is main-actor isolated by default, it makes the
/// conformances of entities nonisolated, so that they can be decoded anywhere.
public protocol PrismEntity: Codable, Equatable, Hashable, CustomStringConvertible, PrismLogger, SendableMetatype {}

extension PrismEntity {
  /// The value as JSON with sorted keys; the name of the type if the value cannot be encoded.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
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
