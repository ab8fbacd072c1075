import Foundation

/// A HAR file of any origin, as far as a replay needs it. What other tools leave out is optional.
struct HARFile: Decodable {
  struct Log: Decodable {
    var entries: [Entry]
    /// Only in files of this library.
    var redaction: HARDocument.Redaction?

    enum CodingKeys: String, CodingKey {
      case entries
      case redaction = "_redaction"
    }
  }

  struct Entry: Decodable {
    var request: Request
    var response: Response
  }

  struct Request: Decodable {
    var method: String
    var url: String
    var headers: [HARDocument.Field]?
    var postData: PostData?
    var bodySize: Double?
    var fingerprints: [String: String]?

    enum CodingKeys: String, CodingKey {
      case method, url, headers, postData, bodySize
      case fingerprints = "_fingerprints"
    }
  }

  struct PostData: Decodable {
    var mimeType: String?
    var text: String?
    var encoding: String?
    var digest: String?
    var isOmitted: Bool?

    enum CodingKeys: String, CodingKey {
      case mimeType, text
      case encoding = "_encoding"
      case digest = "_digest"
      case isOmitted = "_omitted"
    }
  }

  struct Response: Decodable {
    /// 0 or less if there was no response.
    var status: Int?
    var statusText: String?
    var headers: [HARDocument.Field]?
    var content: Content?
    var error: String?

    enum CodingKeys: String, CodingKey {
      case status, statusText, headers, content
      case error = "_error"
    }
  }

  struct Content: Decodable {
    var size: Double?
    var text: String?
    var encoding: String?
    var pieces: [Int]?
    var isTruncated: Bool?

    enum CodingKeys: String, CodingKey {
      case size, text, encoding
      case pieces = "_pieces"
      case isTruncated = "_truncated"
    }
  }

  var log: Log

  /// Decodes an untrusted file.
  static func read(_ data: Data, limit: Int) throws(HARError) -> HARFile {
    guard data.count <= limit else { throw .tooLarge(limit: limit) }
    do {
      // RFC 8259 §8.1: a byte order mark may be ignored. Some tools write one.
      let isMarked = data.starts(with: [0xEF, 0xBB, 0xBF])
      return try JSONDecoder().decode(HARFile.self, from: isMarked ? data.dropFirst(3) : data)
    } catch let error as DecodingError {
      throw HARError(error)
    } catch {
      throw .notHAR(reason: "it cannot be decoded")
    }
  }
}

extension HARError {
  /// Creates an error with the location of a decoding error, without any content of the file.
  fileprivate init(_ error: DecodingError) {
    let path: [any CodingKey]
    let what: String
    switch error {
    case .keyNotFound(let key, let context): (path, what) = (context.codingPath, "\(key.stringValue) is missing")
    case .valueNotFound(_, let context): (path, what) = (context.codingPath, "there is no value")
    case .typeMismatch(_, let context): (path, what) = (context.codingPath, "the value is of another type")
    case .dataCorrupted(let context):
      (path, what) = (context.codingPath, context.codingPath.isEmpty ? "it is not JSON" : "the value is damaged")
    @unknown default: (path, what) = ([], "it cannot be decoded")
    }
    let place = path.map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
    let reason = place.isEmpty ? what : "\(place): \(what)"
    if let index = path.lazy.compactMap(\.intValue).first {
      self = .invalidEntry(index, reason: reason)
    } else {
      self = .notHAR(reason: reason)
    }
  }
}
