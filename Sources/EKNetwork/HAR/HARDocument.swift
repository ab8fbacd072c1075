import Foundation

/// A HAR 1.2 file as it is written. Names that begin with an underscore are extensions, which the format allows.
enum HARDocument {
  static let version = "1.2"

  /// - Parameters:
  ///   - exchanges: The exchanges, in the order in which they are written.
  ///   - dropped: The number of exchanges that were dropped.
  static func data(_ exchanges: [HARExchange], redaction: HARRedaction, dropped: Int) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let log = Log(
      redaction: Redaction(salt: redaction.salt, hidesSecrets: redaction.hidesSecrets),
      comment: dropped > 0 ? "\(dropped) older entries were dropped" : nil)
    // Entry by entry: encoding all of them at once would take several times the memory.
    var data = Data("{\"log\":".utf8) + (try encoder.encode(log)).dropLast() + Data(",\"entries\":[".utf8)
    for (index, exchange) in exchanges.enumerated() {
      if index > 0 { data.append(UInt8(ascii: ",")) }
      data.append(UInt8(ascii: "\n"))
      data.append(try encoder.encode(Entry(exchange)))
    }
    return data + Data("\n]}}\n".utf8)
  }

  struct Log: Encodable {
    struct Creator: Encodable {
      var name = "EKNetwork"
      var version = "0.1.0"
    }

    var version = HARDocument.version
    var creator = Creator()
    var redaction: Redaction
    var comment: String?

    enum CodingKeys: String, CodingKey {
      case version, creator, comment
      case redaction = "_redaction"
    }
  }

  struct Redaction: Codable {
    var salt: String
    var hidesSecrets: Bool
  }

  struct Field: Codable {
    var name: String
    var value: String
  }

  struct Nothing: Codable {}

  struct Entry: Encodable {
    var startedDateTime: String
    var time: Double
    var request: Request
    var response: Response
    var cache = Nothing()
    var timings: Timings
    var serverIPAddress: String?
  }

  struct Request: Encodable {
    var method: String
    var url: String
    var httpVersion: String
    // Cookies are in the header fields.
    var cookies: [Nothing] = []
    var headers: [Field]
    var queryString: [Field]
    var postData: PostData?
    var headersSize = -1
    var bodySize: Int64
    var fingerprints: [String: String]?

    enum CodingKeys: String, CodingKey {
      case method, url, httpVersion, cookies, headers, queryString, postData, headersSize, bodySize
      case fingerprints = "_fingerprints"
    }
  }

  struct PostData: Encodable {
    var mimeType: String
    var text = ""
    var comment: String?
    var encoding: String?
    var digest: String?
    var isOmitted: Bool?

    enum CodingKeys: String, CodingKey {
      case mimeType, text, comment
      case encoding = "_encoding"
      case digest = "_digest"
      case isOmitted = "_omitted"
    }
  }

  struct Response: Encodable {
    var status = 0
    var statusText = ""
    var httpVersion: String
    var cookies: [Nothing] = []
    var headers: [Field] = []
    var content = Content()
    var redirectURL = ""
    var headersSize = -1
    var bodySize = -1
    var error: String?

    enum CodingKeys: String, CodingKey {
      case status, statusText, httpVersion, cookies, headers, content, redirectURL, headersSize, bodySize
      case error = "_error"
    }
  }

  struct Content: Encodable {
    var size: Int64 = 0
    var mimeType = "x-unknown"
    var text = ""
    var encoding: String?
    var comment: String?
    var pieces: [Int]?
    var isTruncated: Bool?

    enum CodingKeys: String, CodingKey {
      case size, mimeType, text, encoding, comment
      case pieces = "_pieces"
      case isTruncated = "_truncated"
    }
  }

  /// The timings in milliseconds; -1 for a phase that did not happen.
  struct Timings: Encodable {
    var blocked: Double
    var dns: Double
    var connect: Double
    var ssl: Double
    var send: Double
    var wait: Double
    var receive: Double
  }
}
