import Foundation

/// A value that an API sends or receives. Only what `Codable` and `Hashable` ask for has to be there, and the compiler
/// writes that: `struct User: PrismEntity { let id: String }` is complete.
///
/// `SendableMetatype` asks for nothing. In a module whose code belongs to the main actor by default, it makes entities an
/// exception, so that they can be decoded anywhere.
public protocol PrismEntity: Codable, Equatable, Hashable, CustomStringConvertible, PrismLogger, SendableMetatype {}

extension PrismEntity {
  /// The name of the type and the value as JSON, its keys in order.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    let name = String(describing: Self.self)
    guard let data = try? encoder.encode(self) else { return name }
    return name + " " + String(decoding: data, as: UTF8.self)
  }

  /// Writes ``description`` to the log: everything that is in the value.
  public func log() { DeveloperLog.write(description) }
}

/// So that the response to a request can be a list.
extension Array: PrismLogger where Element: PrismEntity {
  /// Writes the descriptions of all elements to the log.
  public func log() { DeveloperLog.write(description) }
}

extension Array: PrismEntity where Element: PrismEntity {}
