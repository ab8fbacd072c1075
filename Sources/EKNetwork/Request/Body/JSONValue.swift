import Foundation

/// Any JSON value (RFC 8259), such as a body that needs no type of its own, written as a literal.
///
/// ```swift
/// let json: JSONValue = ["model": "small", "stream": true, "messages": [["role": "user", "content": .string(text)]]]
/// ```
///
/// Names are encoded and decoded as they are, whatever the strategy of the encoder or decoder for keys. A number that JSON
/// cannot express, such as NaN, is an `EncodingError`, unless the encoder has a strategy for it.
public enum JSONValue: Codable, Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// An integer that fits in 64 bits.
  case int(Int64)
  /// An integer that is greater than `Int64.max`, and fits in 64 bits without a sign.
  case unsigned(UInt64)
  /// Any other number.
  case double(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object.
  case object([String: JSONValue])

  /// Creates what a value is encoded to.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - encoder: The encoder. Defaults to a new `JSONEncoder`.
  /// - Throws: The errors of the encoder.
  public init(encoding value: some Encodable, with encoder: JSONEncoder = JSONEncoder()) throws {
    self = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(value))
  }

  /// Decodes any JSON value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .unsigned(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if (try? decoder.unkeyedContainer()) != nil {
      // What is wrong with an element is the error, and not that the array is no object.
      self = .array(try container.decode([JSONValue].self))
    } else {
      do {
        self = .object(try container.decode([String: JSONValue].self))
      } catch DecodingError.typeMismatch(_, let context) where context.codingPath.count == decoder.codingPath.count {
        throw DecodingError.dataCorruptedError(
          in: container, debugDescription: "A string that is not Unicode, a number that no type can hold, or no JSON")
      }
    }
  }

  /// Encodes the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }

  /// The boolean, if the value is one.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The integer, if the value is one that an `Int` can hold. `1.0` is one.
  public var intValue: Int? {
    switch self {
    case .int(let value): Int(exactly: value)
    case .unsigned(let value): Int(exactly: value)
    case .double(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, if the value is one; an integer beyond 2⁵³ is rounded.
  public var doubleValue: Double? {
    switch self {
    case .int(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The string, if the value is one.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }

  /// Returns the value of that name; `nil` if there is none, or this is not an object.
  public subscript(name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  /// Returns the element at that position; `nil` if there is none, or this is not an array.
  public subscript(index: Int) -> JSONValue? {
    if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
  }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  /// Creates `null`.
  public init(nilLiteral: ()) { self = .null }
  /// Creates `true` or `false`.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  /// Creates an integer.
  public init(integerLiteral value: Int64) { self = .int(value) }
  /// Creates a number.
  public init(floatLiteral value: Double) { self = .double(value) }
  /// Creates a string.
  public init(stringLiteral value: String) { self = .string(value) }
  /// Creates an array.
  public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
  /// Creates an object. Of several values of a name, the last counts.
  public init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}

extension JSONValue: CustomStringConvertible {
  /// The value as JSON in one line, its names sorted, which is what `print` shows. A number that JSON cannot express is a
  /// string, such as `"nan"`.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "<invalid JSON>"
  }
}

/// The JSON value of an extension that the GraphQL specification does not define.
public typealias PrismGraphQLValue = JSONValue
