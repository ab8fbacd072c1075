import Foundation

/// A list of header fields in the order in which they were sent, with repeated names kept.
public struct HeaderFields: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
  /// One field line.
  public struct Field: Sendable, Hashable {
    /// The name as it was sent.
    public var name: String
    /// The value, without the white space around it.
    public var value: String

    /// Creates a field; nothing is validated, so that a server can also send invalid fields.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  private var fields: [Field]

  /// Creates a list of fields.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// Creates a list of fields; `["Set-Cookie": "a=1", "Set-Cookie": "b=2"]` keeps both fields and their order.
  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field($0.0, $0.1) }
  }

  /// The position of the first field.
  public var startIndex: Int { 0 }
  /// The position after the last field.
  public var endIndex: Int { fields.count }
  /// The field at a position.
  public subscript(position: Int) -> Field { fields[position] }

  /// The value of the first field with a name; case is ignored.
  public subscript(name: String) -> String? {
    fields.first { $0.name.equalsIgnoringCase(name) }?.value
  }

  /// Returns the values of all fields with a name, in order; case is ignored.
  public func values(_ name: String) -> [String] {
    fields.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
  }

  /// Appends a field; earlier ones with the same name are kept.
  public mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name, value))
  }

  /// Returns whether a comma-separated list field contains a token; case is ignored (RFC 9110, section 5.6.1).
  func contains(token: String, in name: String) -> Bool {
    for field in fields where field.name.equalsIgnoringCase(name) {
      let members = field.value.split(separator: ",")
      if members.contains(where: { $0.trimmingSpaces.equalsIgnoringCase(token) }) { return true }
    }
    return false
  }
}
