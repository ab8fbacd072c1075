import Foundation

/// The part of a GraphQL document that is needed to send it: the kinds of its operations.
enum GraphQLDocument {
  enum Kind: String, Sendable { case query, mutation, subscription }

  /// Returns the kind of an operation; `nil` where it cannot be determined, and nothing should be assumed.
  static func kind(of document: String, operationName name: String?) -> Kind? {
    let operations = operations(in: document)
    if let name { return operations.first { $0.name == name }?.kind }
    return operations.count == 1 ? operations[0].kind : nil
  }

  private static func operations(in document: String) -> [(kind: Kind, name: String?)] {
    var scanner = GraphQLScanner(document)
    var operations: [(kind: Kind, name: String?)] = []
    var depth = 0
    // The words of the current definition before its first bracket.
    var words: [String] = []
    while let token = scanner.next() {
      let first = token[token.startIndex]
      switch first {
      case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "["):
        if depth == 0, first == UInt8(ascii: "{") {
          if words.isEmpty {
            operations.append((.query, nil))
          } else if let kind = Kind(rawValue: words[0]) {
            operations.append((kind, words.count > 1 ? words[1] : nil))
          }
          words = []
        }
        depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: ")"), UInt8(ascii: "]"): depth = max(0, depth - 1)
      case UInt8(ascii: "@"):
        // The word that follows the directive is not the name of the operation.
        if depth == 0, words.count == 1 { words.append("") }
      default:
        if depth == 0 { words.append(String(decoding: token, as: UTF8.self)) }
      }
    }
    return operations
  }
}

/// A scanner of the words and brackets of a document, and of the signs of its directives; it skips strings and comments
/// (§2.1 of the specification).
private struct GraphQLScanner {
  private let bytes: [UInt8]
  private var index = 0

  init(_ document: String) { bytes = Array(document.utf8) }

  mutating func next() -> ArraySlice<UInt8>? {
    while index < bytes.count {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "#"):
        while index < bytes.count, bytes[index] != 0x0A, bytes[index] != 0x0D { index += 1 }
      case UInt8(ascii: "\""): skipString()
      case _ where Self.signs.contains(byte):
        let sign = bytes[index...index]
        index += 1
        // The name of a directive is not that of anything else.
        if byte == UInt8(ascii: "@") { _ = word() }
        return sign
      case _ where Self.nameBytes.contains(byte): return word()
      default: index += 1
      }
    }
    return nil
  }

  private mutating func word() -> ArraySlice<UInt8> {
    let start = index
    while index < bytes.count, Self.nameBytes.contains(bytes[index]) { index += 1 }
    return bytes[start..<index]
  }

  private mutating func skipString() {
    let isBlock = isNext("\"\"\"")
    let (end, escape) = isBlock ? ("\"\"\"", "\\\"\"\"") : ("\"", "\\")
    index += end.utf8.count
    while index < bytes.count {
      if isNext(escape) {
        index += isBlock ? 4 : 2
      } else if isNext(end) || !isBlock && bytes[index] == 0x0A {
        index += end.utf8.count
        return
      } else {
        index += 1
      }
    }
  }

  private func isNext(_ text: String) -> Bool { bytes[index...].starts(with: text.utf8) }

  private static let signs = ByteSet("{([])}@")
  private static let nameBytes = ByteSet.alphanumerics(and: "_")
}

/// The variables of an operation, as JSON: a value that may contain values of any type.
struct GraphQLVariables: Encodable {
  private let value: Any

  /// Creates the variables of a query; `nil` if it has none.
  init?(_ query: PrismGraphQLQuery) {
    let variables: Any? = query.encodableVariables ?? query.variables
    guard let variables else { return nil }
    value = variables
  }

  private init(value: Any) { self.value = value }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case is NSNull: try container.encodeNil()
    case let value as any Encodable: try container.encode(value)
    case let values as [String: Any]: try container.encode(values.mapValues { GraphQLVariables(value: $0) })
    case let values as [Any]: try container.encode(values.map { GraphQLVariables(value: $0) })
    case let value as (any OptionalValue):
      guard let wrapped = value.wrappedValue else { return try container.encodeNil() }
      try container.encode(GraphQLVariables(value: wrapped))
    default:
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: encoder.codingPath, debugDescription: "A variable of the type \(type(of: value)) has no JSON."))
    }
  }
}

private protocol OptionalValue {
  var wrappedValue: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrappedValue: Any? { map { $0 as Any } }
}
