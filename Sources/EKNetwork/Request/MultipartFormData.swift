import Foundation

/// A `multipart/form-data` body (RFC 7578).
public struct MultipartFormData: Equatable, Sendable {
  /// One field or file of the form.
  public struct Part: Equatable, Sendable {
    /// The form field's name.
    public let name: String
    /// The name of the part's file, if it has one.
    public let filename: String?
    /// The part's content; empty if it is in a file.
    public let data: Data
    /// The file that holds the part's content, if it is not in memory.
    public let fileURL: URL?
    /// The part's media type. Without one (an empty string) the part has no `Content-Type` and is plain text.
    public let mimeType: String

    /// Creates a part like ``MultipartFormData/addPart(name:data:mimeType:filename:)``, for tests.
    public init(name: String, data: Data, mimeType: String, filename: String? = nil) {
      self.name = name
      self.filename = filename
      self.data = data
      self.mimeType = mimeType
      fileURL = nil
    }

    /// Creates a part, with the parameters in the order of the members.
    public init(name: String, filename: String?, data: Data, mimeType: String) {
      self.init(name: name, data: data, mimeType: mimeType, filename: filename)
    }

    /// Creates a part like ``MultipartFormData/addPart(name:fileURL:mimeType:filename:)``, for tests.
    public init(name: String, fileURL: URL, mimeType: String, filename: String? = nil) {
      self.name = name
      self.filename = filename ?? fileURL.lastPathComponent
      self.mimeType = mimeType
      self.fileURL = fileURL
      data = Data()
    }
  }

  /// The delimiter between the parts, which occurs in none of them. It is initially a UUID.
  ///
  /// Adding a part whose data happens to contain the boundary replaces it by a new one, so read it when the form is
  /// complete.
  public private(set) var boundary: String
  /// The parts, in the order in which they are sent.
  ///
  /// Setting them searches the data of all of them for the boundary; ``addPart(name:data:mimeType:filename:)`` searches
  /// only the new data.
  public var parts: [Part] {
    get { content }
    set {
      content = newValue
      if occurs(ByteSearch(boundary)) { replaceBoundary() }
    }
  }
  private var content: [Part] = []

  /// Creates an empty form with a random boundary.
  public init() {
    self.init(boundary: UUID().uuidString)
  }

  /// Creates an empty form with the given boundary.
  init(boundary: String) {
    self.boundary = boundary
  }

  /// Adds a part.
  ///
  /// The data is searched for the boundary once, and not copied before ``encodedData()`` is called.
  ///
  /// - Parameters:
  ///   - name: The form field's name.
  ///   - data: The content.
  ///   - mimeType: The media type, for example `"image/png"`.
  ///   - filename: The name of the file; `nil` for a plain field.
  public mutating func addPart(name: String, data: Data, mimeType: String, filename: String? = nil) {
    content.append(Part(name: name, data: data, mimeType: mimeType, filename: filename))
    if data.withUnsafeBytes(ByteSearch(boundary).occurs) { replaceBoundary() }
  }

  private mutating func replaceBoundary() {
    repeat { boundary = UUID().uuidString } while occurs(ByteSearch(boundary))
  }

  private func occurs(_ search: ByteSearch) -> Bool {
    content.contains { $0.data.withUnsafeBytes(search.occurs) }
  }

  /// Adds a part whose content is in a file, which is read as it is sent and never held in memory.
  ///
  /// The file is checked when the request is sent: a missing or unreadable one throws a ``RequestBodyError`` then. Each
  /// retry reads it again. Its content is not searched for the boundary, which is random enough.
  ///
  /// - Parameters:
  ///   - name: The form field's name.
  ///   - fileURL: The file.
  ///   - mimeType: The media type, for example `"video/mp4"`.
  ///   - filename: The name that is sent to the server. Defaults to `nil`: the last path component of `fileURL`.
  public mutating func addPart(name: String, fileURL: URL, mimeType: String, filename: String? = nil) {
    content.append(Part(name: name, fileURL: fileURL, mimeType: mimeType, filename: filename))
  }

  /// Appends a random suffix to a boundary chosen by the caller, which the author of an uploaded file could otherwise
  /// guess.
  mutating func randomizeBoundary() {
    let random = UUID().uuidString
    // At most 70 characters (RFC 2046 §5.1.1).
    boundary = boundary.prefix(69 - random.count) + "-" + random
  }

  /// Returns the whole body: every part in order, then the closing boundary.
  ///
  /// Names and filenames are sent as UTF-8 (RFC 7578 §5.1) and cannot end their quoted string or header line: a quote
  /// is sent as `\"` and a backslash as `\\` (RFC 2183), CR and LF as `%0D` and `%0A`, as in browsers, and other
  /// control characters likewise.
  ///
  /// - Returns: `nil` if a part's media type contains CR, LF, NUL or another control character; `NetworkManager` then
  ///   throws ``NetworkError/invalidMultipartEncoding``. Also `nil` for a form with a file, which is only ever
  ///   streamed.
  public func encodedData() -> Data? {
    MultipartEncoding.encode(parts, boundary: boundary)
  }
}
