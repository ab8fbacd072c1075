import Foundation

/// The header or trailer fields of a message (RFC 9110 §5): in order, repeated ones separate, with the case of their names
/// preserved.
///
/// What passes through a `URLSession`, which loses the order and joins the values of a repeated field, is sorted by name.
public struct HeaderFieldList: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
  /// A field.
  public struct Field: Sendable, Hashable {
    /// The name.
    public var name: String
    /// The value, without blanks around it.
    public var value: String
  }

  private(set) var fields: [Field]

  /// Creates a list of fields in order.
  public init(_ fields: [(name: String, value: String)] = []) {
    self.fields = fields.map { Field(name: $0.name, value: $0.value) }
  }

  init(fields: [Field]) { self.fields = fields }

  /// Creates a list of fields sorted by name.
  public init(_ fields: [String: String]?) {
    self.fields = (fields ?? [:]).sorted { $0.key < $1.key }.map { Field(name: $0.key, value: $0.value) }
  }

  /// Creates a list of fields in order, whose names may be repeated.
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { (name: $0, value: $1) })
  }

  /// The position of the first field.
  public var startIndex: Int { fields.startIndex }
  /// The position after the last field.
  public var endIndex: Int { fields.endIndex }
  /// Returns the field at a position.
  public subscript(position: Int) -> Field { fields[position] }

  /// Returns all values of a field, in order; names are case-insensitive.
  public func values(for name: String) -> [String] { values(name.lowercased()) }

  /// Returns the value of a field; names are case-insensitive. Repeated ones are joined with `", "` (RFC 9110 §5.3), which
  /// is not possible for `Set-Cookie`; `nil` if there is none.
  public func value(for name: String) -> String? { value(name.lowercased()) }

  /// Returns all values of a field. `name` is in lower case.
  func values(_ name: String) -> [String] {
    fields.filter { $0.name.isFieldName(name) }.map(\.value)
  }

  /// Returns the value of a field, with repeated ones joined by `", "` (RFC 9110 §5.3); `nil` if there is none.
  func value(_ name: String) -> String? {
    let values = values(name)
    return values.count < 2 ? values.first : values.joined(separator: ", ")
  }

  /// Returns the first value of a field. `name` is in lower case.
  func first(_ name: String) -> String? {
    for field in fields where field.name.isFieldName(name) { return field.value }
    return nil
  }

  /// The fields, with the values of repeated names joined.
  var dictionary: [String: String] {
    var result = [String: String](minimumCapacity: fields.count)
    for field in fields {
      result[field.name] = result[field.name].map { "\($0), \(field.value)" } ?? field.value
    }
    return result
  }

  func single(_ name: String) throws(SingletonField.Conflict) -> String? { try SingletonField.value(of: values(name)) }

  /// Returns whether there is a field. `name` is in lower case.
  func contains(_ name: String) -> Bool { fields.contains { $0.name.isFieldName(name) } }

  /// Creates a list of the fields of a dictionary, each name once whatever its case: those of `previous` in their order, and the
  /// others sorted by name after them.
  init(_ dictionary: [String: String], inOrderOf previous: HeaderFieldList?) {
    var (given, list) = (dictionary, [Field]())
    list.reserveCapacity(given.count)
    for field in previous?.fields ?? [] {
      if let value = given.removeValue(forKey: field.name) { list.append(Field(name: field.name, value: value)) }
    }
    self.fields = list
    for (name, value) in given.sorted(by: { $0.key < $1.key }) where !contains(name.lowercased()) {
      fields.append(Field(name: name, value: value))
    }
  }

  /// Sets a field that is there once at most, in its place.
  mutating func replace(_ name: String, _ value: String) {
    let lowercased = name.lowercased()
    if let index = fields.firstIndex(where: { $0.name.isFieldName(lowercased) }) {
      fields[index] = Field(name: name, value: value)
    } else {
      fields.append(Field(name: name, value: value))
    }
  }

  mutating func set(_ name: String, _ value: String) {
    remove(name.lowercased())
    fields.append(Field(name: name, value: value))
  }

  mutating func reserveCapacity(_ count: Int) { fields.reserveCapacity(count) }

  mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

  mutating func remove(_ name: String) { fields.removeAll { $0.name.isFieldName(name) } }

  mutating func remove(where isUnwanted: (String) -> Bool) {
    fields.removeAll { isUnwanted($0.name.lowercased()) }
  }
}

/// A response, or what was made from one, with its header fields.
public protocol ResponseHeaderFields {
  /// The header fields in order, with repeated ones separate, as far as the response is the library's own; sorted by name
  /// and joined if a `URLSession` has received it.
  var headerFields: HeaderFieldList { get }
}

extension ResponseHeaderFields {
  /// Returns all values of a header field, in order; names are case-insensitive. Two `Set-Cookie` are two.
  public func values(for name: String) -> [String] { headerFields.values(for: name) }
}

/// The header fields of a response, and what it responds to, for types that also have the fields as a dictionary. It does
/// not count in comparisons: the dictionary does.
struct ReceivedFields: Sendable, Equatable {
  var response: HTTPURLResponse?
  /// The method of the request, if it matters.
  var method: String?

  /// The URL that responded, without the user and the password.
  var url: URL? { response?.url?.withoutCredentials }

  func list(or headers: [String: String]) -> HeaderFieldList {
    response.map { HeaderFieldList($0) } ?? HeaderFieldList(headers)
  }

  static func == (_: Self, _: Self) -> Bool { true }
}

extension String {
  /// Returns whether this is the given field name, ignoring case (RFC 9110 §5.1). `lowercased` is in lower case.
  func isFieldName(_ lowercased: String) -> Bool {
    guard utf8.count == lowercased.utf8.count else { return false }
    return zip(utf8, lowercased.utf8).allSatisfy { $0 == $1 || ($0 | 0x20 == $1 && (0x41...0x5A).contains($0)) }
  }
}

/// The fields that have a single value, such as `Location`, `ETag` or `Retry-After` (RFC 9110 §5.3).
///
/// Servers and what is in front of them repeat them nevertheless. Equal values are one. Of different ones it is unknown
/// which is meant: where the value decides what happens next, that is an error, and elsewhere the field is ignored.
enum SingletonField {
  struct Conflict: Error {}

  /// Returns the value of the lines of a field; `nil` if there is none. An empty value is none.
  static func value(of lines: [String]) throws(Conflict) -> String? {
    guard let first = lines.first(where: { !$0.isEmpty }) else { return nil }
    guard lines.allSatisfy({ $0.isEmpty || $0 == first }) else { throw Conflict() }
    return first
  }

  /// Returns the value of lines that were joined with commas, as Foundation and dictionaries represent them. Different
  /// ones remain joined, which the grammar of no such field allows.
  static func value(ofJoined text: String) -> String {
    guard text.contains(",") else { return text }
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmingBlanks() }
    // A date has a comma of its own.
    for length in 1...2 where parts.count > length && parts.count.isMultiple(of: length) {
      guard parts.indices.allSatisfy({ parts[$0] == parts[$0 % length] }) else { continue }
      return parts[..<length].joined(separator: ", ")
    }
    return text
  }
}
