import Foundation

/// A `multipart/form-data` body (RFC 7578), as the `body` of a ``PrismNetworkEndpoint`` or for a ``PrismUploadTask``.
///
/// ```swift
/// var form = PrismMultipartFormData()
/// form.append(string: "Holidays", name: "title")
/// form.append(file: video, name: "video", mimeType: "video/mp4")  // read while it is sent
/// ```
///
/// Names are escaped, so that they cannot end the quoted string or the line: a quote is sent as `\"`, a backslash as
/// `\\`, line breaks as `%0D` and `%0A`.
public struct PrismMultipartFormData: Sendable {
  private(set) var form: MultipartFormData
  /// The boundary since it has a random part of its own. The one that it was created with may be a constant of the app,
  /// even if it looks like a UUID.
  private var randomBoundary: String?

  /// Creates an empty form.
  ///
  /// - Parameter boundary: The delimiter of the parts. A boundary that RFC 2046 §5.1.1 does not allow, or that occurs
  ///   in the data of a part, is replaced. In a form with a file, which is not searched for the boundary, a random
  ///   suffix is appended to it. Defaults to a new boundary.
  public init(boundary: String = UUID().uuidString) {
    form = MultipartFormData(boundary: Self.isBoundary(boundary) ? boundary : UUID().uuidString)
  }

  /// Adds a file with content in memory.
  ///
  /// - Parameters:
  ///   - data: The content.
  ///   - name: The name of the form's field.
  ///   - fileName: The name of the file.
  ///   - mimeType: The media type. One that is not a valid header value (RFC 9110 §5.5) is sent as
  ///     `application/octet-stream`.
  public mutating func append(data: Data, name: String, fileName: String, mimeType: String) {
    form.addPart(name: name, data: data, mimeType: Self.mediaType(mimeType), filename: fileName)
  }

  /// Adds a text field.
  public mutating func append(string: String, name: String) {
    form.addPart(name: name, data: Data(string.utf8), mimeType: "")
  }

  /// Adds a file that is read while the form is sent, and never held in memory as a whole.
  ///
  /// - Parameters:
  ///   - file: The file. If it is missing, sending the form throws ``RequestBodyError``.
  ///   - name: The name of the form's field.
  ///   - fileName: The name of the file. Defaults to `nil`: the last path component of `file`.
  ///   - mimeType: The media type.
  public mutating func append(file: URL, name: String, fileName: String? = nil, mimeType: String) {
    if form.boundary != randomBoundary { form.randomizeBoundary() }
    randomBoundary = form.boundary
    form.addPart(name: name, fileURL: file, mimeType: Self.mediaType(mimeType), filename: fileName)
  }

  /// Returns the whole body, and the value of its `Content-Type`.
  ///
  /// Files are read into memory, and the body is empty if one of them cannot be read. An endpoint or a
  /// ``PrismUploadTask`` instead reads the files while it sends them, and throws.
  public func build() -> (Data, String) {
    if let data = form.encodedData() { return (data, contentType) }
    var copy = MultipartFormData(boundary: form.boundary)
    for part in form.parts {
      guard let file = part.fileURL else {
        copy.addPart(name: part.name, data: part.data, mimeType: part.mimeType, filename: part.filename)
        continue
      }
      guard file.isFileURL, let data = try? Data(contentsOf: file) else { return (Data(), contentType) }
      copy.addPart(name: part.name, data: data, mimeType: part.mimeType, filename: part.filename)
    }
    return (copy.encodedData() ?? Data(), Self.contentType(boundary: copy.boundary))
  }

  /// The value of the `Content-Type` for the current content of the form.
  public var contentType: String { Self.contentType(boundary: form.boundary) }

  func segments() throws -> [BodySegment] { try form.segments() }

  /// Returns the content type; a boundary that is not a token has to be quoted (RFC 9110 §5.6.6).
  private static func contentType(boundary: String) -> String {
    "multipart/form-data; boundary=" + (HeaderSyntax.isToken(boundary) ? boundary : "\"\(boundary)\"")
  }

  private static func mediaType(_ text: String) -> String {
    HeaderSyntax.trimmedValue(text) ?? PrismNetworkHeaderType.octetStream.rawValue
  }

  private static let boundaryCharacters = ByteSet.alphanumerics(and: "'()+_,-./:=? ")

  private static func isBoundary(_ text: String) -> Bool {
    (1...70).contains(text.utf8.count) && text.utf8.last != UInt8(ascii: " ")
      && text.utf8.allSatisfy(boundaryCharacters.contains)
  }
}

/// A form is `Encodable` only so that it can be the body of an endpoint: it throws in any other encoder.
extension PrismMultipartFormData: Encodable {
  /// Throws `EncodingError.invalidValue`.
  public func encode(to encoder: any Encoder) throws {
    throw EncodingError.invalidValue(
      self,
      EncodingError.Context(
        codingPath: encoder.codingPath, debugDescription: "A form is a body of its own, and no part of another."))
  }
}
