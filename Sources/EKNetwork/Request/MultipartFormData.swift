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
  public init() { self.init(boundary: UUID().uuidString) }

  init(boundary: String) { self.boundary = boundary }

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
    guard !parts.contains(where: { $0.fileURL != nil }), let segments = try? segments() else { return nil }
    // One buffer of exactly its size, so that each part's data is copied once.
    var body = Data(capacity: segments.reduce(0) { $0 + Int($1.length) })
    for case .data(let data) in segments { body.append(data) }
    return body
  }

  /// Returns the body (RFC 7578, RFC 2046 §5.1.1) without copying the data and reading the files of the parts.
  func segments() throws -> [BodySegment] {
    var segments: [BodySegment] = []
    var between = Data()
    for part in parts {
      guard let head = head(of: part) else { throw NetworkError.invalidMultipartEncoding }
      between.append(contentsOf: head)
      segments.append(.data(between))
      segments.append(try part.fileURL.map { .file(try FileSegment($0)) } ?? .data(part.data))
      between = Data([0x0D, 0x0A])
    }
    between.append(contentsOf: "--\(boundary)--\r\n".utf8)
    segments.append(.data(between))
    return segments
  }

  /// Returns the delimiter and the header lines of a part, with the empty line after them.
  private func head(of part: Part) -> [UInt8]? {
    guard let mimeType = HeaderSyntax.trimmedValue(part.mimeType) else { return nil }
    var head: [UInt8] = []
    head.reserveCapacity(128 + part.name.utf8.count + (part.filename?.utf8.count ?? 0) + mimeType.utf8.count)
    head.append(contentsOf: "--\(boundary)\r\nContent-Disposition: form-data; name=\"".utf8)
    Self.appendEscaped(part.name, to: &head)
    if let filename = part.filename {
      head.append(contentsOf: "\"; filename=\"".utf8)
      Self.appendEscaped(filename, to: &head)
    }
    head.append(contentsOf: "\"\r\n".utf8)
    if !mimeType.isEmpty { head.append(contentsOf: "Content-Type: \(mimeType)\r\n".utf8) }
    head.append(contentsOf: "\r\n".utf8)
    return head
  }

  /// Writes a string so that it ends neither its quotes nor its line: quotes and backslashes are written as quoted
  /// pairs (RFC 2183), which servers decode. Line breaks have no quoted pair, and are sent as browsers send them.
  private static func appendEscaped(_ string: String, to output: inout [UInt8]) {
    var string = string
    string.withUTF8 { bytes in
      for byte in bytes {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "\""):
          output.append(UInt8(ascii: "\\"))
          output.append(byte)
        case 0x00..<0x20 where byte != 0x09, 0x7F: PercentEncoding.appendEncoded(byte, to: &output)
        default: output.append(byte)
        }
      }
    }
  }
}

/// Searches bytes for a short pattern by Horspool's algorithm: it examines about one byte in `pattern.count`, unless
/// the data resembles the pattern, so searching hundreds of megabytes takes milliseconds.
///
/// `memmem` is not part of the C modules of every platform, and `Data.range(of:)` compares at every offset.
struct ByteSearch {
  private let pattern: [UInt8]
  /// The number of bytes by which the window may advance, by the byte at its end.
  private let shifts: [Int]

  init(_ pattern: String) {
    self.pattern = Array(pattern.utf8)
    var shifts = [Int](repeating: self.pattern.count, count: 256)
    for (index, byte) in self.pattern.dropLast().enumerated() {
      shifts[Int(byte)] = self.pattern.count - 1 - index
    }
    self.shifts = shifts
  }

  /// Returns whether the pattern occurs in the bytes. An empty pattern never does.
  func occurs(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let last = pattern.last else { return false }
    return pattern.withUnsafeBytes { pattern in
      shifts.withUnsafeBufferPointer { shifts in
        var end = pattern.count - 1
        while end < bytes.count {
          let byte = bytes[end]
          if byte == last, bytes[(end + 1 - pattern.count)...end].elementsEqual(pattern) { return true }
          end += shifts[Int(byte)]
        }
        return false
      }
    }
  }
}
