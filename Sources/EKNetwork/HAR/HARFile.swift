import Foundation

/// A HAR file of any origin, as far as a replay needs it. What other tools leave out is optional. The properties have the names
/// of the file.
struct HARFile: Decodable {
  struct Log: Decodable {
    var entries: [ReadEntry]
    /// Only in files of this library.
    var _redaction: HARRedaction?
  }

  /// An entry, or the reason why it is none: one odd entry of a tool does not make the others worthless.
  struct ReadEntry: Decodable {
    let entry: Result<Entry, EntryFailure>

    init(from decoder: any Decoder) throws {
      do {
        entry = .success(try Entry(from: decoder))
      } catch let error as DecodingError {
        entry = .failure(EntryFailure(error.reason(below: decoder.codingPath.count)))
      }
    }
  }

  struct Entry: Decodable {
    var request: Request
    var response: Response
    /// Playwright's mark of a request that its page aborted, maybe after the response's head.
    var _wasAborted: Bool?
  }

  /// A header field. Some tools write fields without a value.
  struct Field: Decodable {
    var name: Lenient<String>?
    var value: Lenient<String>?
  }

  /// A value that is left out if it is of another type.
  struct Lenient<Value: Decodable>: Decodable {
    let value: Value?
    init(from decoder: any Decoder) { value = try? decoder.singleValueContainer().decode(Value.self) }
  }

  struct Request: Decodable {
    var method: String
    var url: String
    var headers: [Field]?
    var postData: PostData?
    var bodySize: Double?
    var _fingerprints: [String: String]?
  }

  struct PostData: Decodable {
    var mimeType: String?
    var text: String?
    var _encoding: String?
    var _digest: String?
    var _omitted: Bool?
  }

  struct Response: Decodable {
    /// 0 or less if there was no response.
    var status: Int?
    var statusText: Lenient<String>?
    var headers: [Field]?
    var content: Content?
    /// -1 or missing if it is unknown.
    var bodySize: Double?
    /// The failure that ended the body, from browsers and this library.
    var _error: String?
    /// The same from Playwright.
    var _failureText: String?
  }

  struct Content: Decodable {
    /// -1 if it is unknown.
    var size: Double?
    var text: String?
    var encoding: String?
    var _pieces: [Int]?
    var _truncated: Bool?
  }

  var log: Log

  /// Decodes an untrusted file.
  static func read(_ data: Data, limit: Int) throws(HARError) -> HARFile {
    guard data.count <= limit else { throw .tooLarge(limit: limit) }
    do {
      // RFC 8259 §8.1: a byte order mark may be ignored. Some tools write one.
      let isMarked = data.starts(with: [0xEF, 0xBB, 0xBF])
      return try JSONDecoder().decode(HARFile.self, from: isMarked ? data.dropFirst(3) : data)
    } catch {
      throw .notHAR(reason: (error as? DecodingError)?.reason(below: 0) ?? "it cannot be decoded")
    }
  }
}

extension DecodingError {
  /// The location, below so many levels, and what is wrong there, without any content of the file.
  fileprivate func reason(below level: Int) -> String {
    let path = context?.codingPath ?? []
    let what =
      switch self {
      case .keyNotFound(let key, _): "\(key.stringValue) is missing"
      case .valueNotFound: "there is no value"
      case .typeMismatch: "the value is of another type"
      case .dataCorrupted: path.isEmpty ? "it is not JSON" : "the value is damaged"
      @unknown default: "it cannot be decoded"
      }
    let place = path.dropFirst(level).map { $0.intValue.map { "[\($0)]" } ?? $0.stringValue }.joined(separator: ".")
    return place.isEmpty ? what : "\(place): \(what)"
  }
}

struct HARExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var reason: String
    var fields: HeaderFieldList
    var content = HARContent()
  }

  /// The number of the request, in the order of sending.
  var number: Int
  var started: Date
  var request: HARRequest
  var response: Response?
  /// The error because of which there was no response, or not all of its body.
  var error: String?
  var timings: HARTimings
  var protocolName: String?
  var remoteAddress: String?

  /// The approximate number of bytes of memory that it takes.
  var cost: Int {
    guard let response else { return request.cost }
    return request.cost + response.content.data.count + response.content.pieces.count * MemoryLayout<Int>.size
      + response.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}

/// The exchanges that a recorder keeps: the newest ones, within its limits.
struct HARExchangeList {
  private let options: HAROptions
  private var lastNumber = 0
  private var size = 0
  private var kept = KeyedQueue<Int, HARExchange>()
  private(set) var dropped = 0

  init(_ options: HAROptions) { self.options = options }

  var count: Int { kept.count }
  var exchanges: [HARExchange] { kept.all }

  mutating func nextNumber() -> Int { lastNumber.increment() }

  mutating func append(_ exchange: HARExchange) {
    kept.append(exchange, id: exchange.number)
    size += exchange.cost
    while kept.count > options.maximumEntries || size > options.maximumSize, let first = kept.popFirst() {
      size -= first.cost
      dropped += 1
    }
  }

  mutating func removeAll() {
    kept = KeyedQueue()
    size = 0
    dropped = 0
  }
}

/// An error for a HAR file that cannot be replayed.
public enum HARError: NonRetriableError, LocalizedError, Equatable, Sendable {
  /// The file cannot be read. The reason is the system's.
  case notReadable(URL, reason: String)
  /// The file has more bytes than are allowed.
  case tooLarge(limit: Int)
  /// The file is not JSON, or not the JSON of a HAR file. The reason contains the location.
  case notHAR(reason: String)
  /// The entry with the index, counted from 0, is invalid for the reason.
  case invalidEntry(Int, reason: String)

  /// A description of the error, in one line.
  public var errorDescription: String? {
    switch self {
    case .notReadable(let url, let reason): "\(url.path) cannot be read: \(reason)"
    case .tooLarge(let limit): "The HAR file has more than \(limit) bytes"
    case .notHAR(let reason): "Not a HAR file: \(reason)"
    case .invalidEntry(let index, let reason): "Entry \(index) of the HAR file is invalid: \(reason)"
    }
  }
}

struct HARRequestBody: Sendable, Equatable {
  var type: String
  /// The size in bytes; `nil` if it is unknown before the body is sent.
  var size: Int64?
  /// The digest; `nil` for a stream, which only its receiver can read.
  var digest: String?
  /// The body itself, if that may be shown.
  var data: Data?
}

extension HARRequestBody {
  /// Returns `nil` for a request without a body.
  init?(_ request: URLRequest, redaction: HARRedaction, limit: Int) {
    let type = request.value(forHTTPHeaderField: "Content-Type") ?? ""
    if let body = request.httpBody, !body.isEmpty {
      self.init(body, type: type, redaction: redaction)
      if !redaction.hidesSecrets { data = Data(body.prefix(limit)) }
    } else if request.httpBodyStream != nil {
      let size = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int64($0) }
      self.init(type: type, size: size, digest: nil)
    } else {
      return nil
    }
  }

  init(_ body: Data, type: String, redaction: HARRedaction) {
    self.type = type
    size = Int64(body.count)
    digest = redaction.digest(Self.canonical(body, type: type))
  }

  /// Returns whether the two may be the same body, as far as both are known.
  static func isSame(_ one: HARRequestBody?, _ other: HARRequestBody?) -> Bool {
    guard let one, let other else { return one == nil && other == nil }
    if let digest = one.digest, let other = other.digest { return digest == other }
    if let size = one.size, let other = other.size, !one.isMultipart { return size == other }
    return true
  }

  private static let longestParsed = 1024 * 1024

  private var isMultipart: Bool { type.lowercased().hasPrefix("multipart/") }

  /// Returns the body without what differs from run to run: the order of a JSON object's members, which is that of a
  /// dictionary, and the boundary of a form, which is random. A long JSON body is not parsed, neither here nor when it is
  /// replayed: that takes many times its size in memory.
  private static func canonical(_ body: Data, type: String) -> Data {
    let media = type.mediaType
    if media.hasSuffix("/json") || media.hasSuffix("+json") {
      guard body.count <= longestParsed else { return body }
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      let value = try? JSONDecoder().decode(JSONValue.self, from: body)
      return value.flatMap { try? encoder.encode($0) } ?? body
    }
    guard media.hasPrefix("multipart/"), let boundary = boundary(of: type) else { return body }
    var result = Data()
    var rest = body[...]
    while let found = rest.range(of: boundary) {
      result += rest[..<found.lowerBound] + Data("boundary".utf8)
      rest = rest[found.upperBound...]
    }
    return result + rest
  }

  /// Returns the boundary of a multipart body (RFC 2046 §5.1.1).
  private static func boundary(of type: String) -> Data? {
    guard let start = type.range(of: "boundary=", options: .caseInsensitive) else { return nil }
    let value = type[start.upperBound...].prefix { $0 != ";" }.trimmingCharacters(in: .whitespaces)
    let boundary = value.trimmingCharacters(in: CharacterSet(charactersIn: "\""))
    return boundary.isEmpty ? nil : Data(boundary.utf8)
  }
}
