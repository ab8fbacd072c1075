import Foundation

/// The wire format of a multipart form (RFC 7578, RFC 2046 §5.1.1).
enum MultipartEncoding {
  /// Returns the body in one buffer of exactly its size, so that each part's data is copied once.
  static func encode(_ parts: [MultipartFormData.Part], boundary: String) -> Data? {
    var heads: [[UInt8]] = []
    heads.reserveCapacity(parts.count)
    var size = 0
    for part in parts {
      guard part.fileURL == nil, let head = head(of: part, boundary: boundary) else { return nil }
      heads.append(head)
      size += head.count + part.data.count + 2
    }
    let end = "--\(boundary)--\r\n"
    size += end.utf8.count

    var body = Data(capacity: size)
    for (head, part) in zip(heads, parts) {
      body.append(contentsOf: head)
      body.append(part.data)
      body.append(contentsOf: [0x0D, 0x0A])
    }
    body.append(contentsOf: end.utf8)
    return body
  }

  /// Returns the body as segments, without copying the data and files of the parts.
  static func segments(_ parts: [MultipartFormData.Part], boundary: String) throws -> [BodySegment] {
    var segments: [BodySegment] = []
    var between = Data()
    for part in parts {
      guard let head = head(of: part, boundary: boundary) else { throw NetworkError.invalidMultipartEncoding }
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
  private static func head(of part: MultipartFormData.Part, boundary: String) -> [UInt8]? {
    guard let mimeType = HeaderSyntax.trimmedValue(part.mimeType) else { return nil }
    var head: [UInt8] = []
    head.reserveCapacity(128 + part.name.utf8.count + (part.filename?.utf8.count ?? 0) + mimeType.utf8.count)
    head.append(contentsOf: "--\(boundary)\r\nContent-Disposition: form-data; name=\"".utf8)
    appendEscaped(part.name, to: &head)
    if let filename = part.filename {
      head.append(contentsOf: "\"; filename=\"".utf8)
      appendEscaped(filename, to: &head)
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
