import Foundation

/// A HAR 1.2 file as it is written. Names that begin with an underscore are extensions, which the format allows.
enum HARDocument {
  static let version = "1.2"

  static func data(_ exchanges: [HARExchange], redaction: HARRedaction, dropped: Int) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let log = Log(redaction: redaction, comment: dropped > 0 ? "\(dropped) older entries were dropped" : nil)
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
    var redaction: HARRedaction
    var comment: String?

    enum CodingKeys: String, CodingKey {
      case version, creator, comment
      case redaction = "_redaction"
    }
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
    var timings: [String: Double]
    var serverIPAddress: String?
    /// By which the developer tools of browsers sort and filter.
    var resourceType = "fetch"

    enum CodingKeys: String, CodingKey {
      case startedDateTime, time, request, response, cache, timings, serverIPAddress
      case resourceType = "_resourceType"
    }
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
    var bodySize: Int64 = -1
    /// The received bytes as Chromium shows them, which would otherwise add the unknown size of the head.
    var transferSize: Int64?
    var error: String?

    enum CodingKeys: String, CodingKey {
      case status, statusText, httpVersion, cookies, headers, content, redirectURL, headersSize, bodySize
      case transferSize = "_transferSize"
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

}

/// A recorded request: enough to recognise it, and no more of its secrets than may be recorded.
struct HARRequest: Sendable, Equatable {
  var method: String
  var url: String
  /// The header fields as they are written.
  var fields: HeaderFieldList
  /// The fingerprints of the values of secret fields, by name in lower case.
  var fingerprints: [String: String]
  var body: HARRequestBody?
}

extension HARRequest {
  /// - Parameter limit: The maximum number of bytes recorded of the body, if it may be shown.
  init(_ request: URLRequest, redaction: HARRedaction, limit: Int = 0) {
    let sent = request.allHTTPHeaderFields ?? [:]
    method = request.httpMethod ?? "GET"
    url = request.url.map { redaction.url($0) } ?? ""
    fields = HeaderFieldList(sent.reduce(into: [:]) { $0[$1.key] = redaction.field($1.key, $1.value, of: request.url) })
    fingerprints = Self.fingerprints(HeaderFieldList(sent), redaction)
    body = HARRequestBody(request, redaction: redaction, limit: limit)
  }

  /// Returns the fingerprints of the secret fields that may distinguish one user from another.
  static func fingerprints(_ fields: HeaderFieldList, _ redaction: HARRedaction) -> [String: String] {
    fields.fields.reduce(into: [:]) { result, field in
      let name = field.name.lowercased()
      guard SecretFields.contains(name), !RequestIdentity.neutral.contains(name) else { return }
      result[name] = redaction.fingerprint(field.value)
    }
  }

  var line: String { "\(method) \(url)" }

  var cost: Int {
    url.utf8.count + (body?.data?.count ?? 0)
      + fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}

/// The recorded body of a response, which grows while it is read.
struct HARContent: Sendable, Equatable {
  /// The maximum number of chunk sizes that are kept.
  private static let maximumPieces = 4096

  private(set) var data = Data()
  /// The size of the whole body in bytes.
  private(set) var size: Int64 = 0
  /// The sizes of the chunks in which it arrived; the bytes after them are one more chunk.
  private(set) var pieces: [Int] = []

  var isTruncated: Bool { size > data.count }

  /// - Parameter unkept: The size of a body of which nothing is kept.
  init(unkept: Int64 = 0) { size = unkept }

  mutating func append(_ chunk: Data, limit: Int) {
    size += Int64(chunk.count)
    let kept = chunk.prefix(max(0, limit - data.count))
    guard !kept.isEmpty else { return }
    // A copy: the chunk may keep a much larger buffer of the connection alive.
    data.append(contentsOf: kept)
    if pieces.count < Self.maximumPieces { pieces.append(kept.count) }
  }
}

/// The phases of an exchange in milliseconds, with the names of HAR 1.2. `nil` for a phase that did not happen or is
/// unknown.
struct HARTimings: Sendable, Equatable {
  /// The time spent waiting for a connection.
  var blocked: Double?
  var dns: Double?
  /// Includes ``ssl``, as HAR specifies.
  var connect: Double?
  var ssl: Double?
  /// Included in ``wait``: it is not measured separately.
  var send = 0.0
  var wait: Double
  var receive: Double

  /// - Parameters:
  ///   - head: From the request to the response's head.
  ///   - total: From the request to the end of the body.
  ///   - network: The timings of the connection, from when the request had one.
  init(head: Duration, total: Duration, network: NetworkTimings?) {
    guard let network, let firstByte = network.firstByte else {
      wait = Self.milliseconds(head)
      receive = Self.milliseconds(total - head)
      return
    }
    let connecting = (network.connect ?? .zero) + (network.secureConnect ?? .zero)
    blocked = Self.milliseconds(head - firstByte)
    dns = network.nameLookup.map(Self.milliseconds)
    connect = network.connect == nil && network.secureConnect == nil ? nil : Self.milliseconds(connecting)
    ssl = network.secureConnect.map(Self.milliseconds)
    wait = Self.milliseconds(firstByte - (network.nameLookup ?? .zero) - connecting)
    receive = Self.milliseconds(network.total - firstByte)
  }

  /// The total that HAR requires; ``ssl`` is included in ``connect``.
  var time: Double { (blocked ?? 0) + (dns ?? 0) + (connect ?? 0) + send + wait + receive }

  /// The phases as they are written; -1 for one that did not happen.
  var phases: [String: Double] {
    [
      "blocked": blocked ?? -1, "dns": dns ?? -1, "connect": connect ?? -1, "ssl": ssl ?? -1, "send": send,
      "wait": wait, "receive": receive,
    ]
  }

  private static func milliseconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.sleepable.components
    return Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000) / 1000
  }
}

extension HARDocument.Entry {
  init(_ exchange: HARExchange) {
    let version = exchange.protocolName ?? "unknown"
    self.init(
      startedDateTime: exchange.started.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)),
      time: exchange.timings.time, request: HARDocument.Request(exchange.request, version: version),
      response: HARDocument.Response(exchange, version: version), timings: exchange.timings.phases,
      serverIPAddress: exchange.remoteAddress)
  }
}

extension HARDocument.Request {
  fileprivate init(_ request: HARRequest, version: String) {
    let query = URLComponents(string: request.url)?.queryItems ?? []
    self.init(
      method: request.method, url: request.url, httpVersion: version, headers: HARDocument.fields(request.fields),
      queryString: query.map { HARDocument.Field(name: $0.name, value: $0.value ?? "") },
      postData: request.body.map { HARDocument.PostData($0) },
      bodySize: request.body.map { $0.size ?? -1 } ?? 0,
      fingerprints: request.fingerprints.isEmpty ? nil : request.fingerprints)
  }
}

extension HARDocument.PostData {
  fileprivate init(_ body: HARRequestBody) {
    self.init(mimeType: body.type, digest: body.digest)
    guard let data = body.data else {
      comment = body.digest == nil ? "Streamed, not kept" : "Not kept"
      isOmitted = true
      return
    }
    if Int64(data.count) < body.size ?? 0 {
      comment = "Cut off after \(data.count) bytes"
      isOmitted = true
    }
    (text, encoding) = HARDocument.text(data)
  }
}

extension HARDocument.Response {
  fileprivate init(_ exchange: HARExchange, version: String) {
    self.init(httpVersion: version, error: exchange.error)
    guard let response = exchange.response else { return }
    status = response.status
    statusText = response.reason
    headers = HARDocument.fields(response.fields)
    redirectURL = (try? response.fields.single("location")) ?? ""
    content = HARDocument.Content(response.content, type: response.fields.value("content-type"))
    // How many bytes a decoded body had on the wire is not known.
    guard response.fields.value("content-encoding") == nil else { return }
    bodySize = response.content.size
    transferSize = bodySize
  }
}

extension HARDocument.Content {
  fileprivate init(_ content: HARContent, type: String?) {
    size = content.size
    if let type { mimeType = type }
    if content.isTruncated {
      comment = content.data.isEmpty ? "Not kept" : "Cut off after \(content.data.count) bytes"
      isTruncated = true
    }
    (text, encoding) = HARDocument.text(content.data)
    if content.pieces.count > 1 { pieces = content.pieces }
  }
}

extension HARDocument {
  fileprivate static func fields(_ fields: HeaderFieldList) -> [Field] {
    fields.fields.map { Field(name: $0.name, value: $0.value) }
  }

  /// Returns bytes as text that JSON can represent.
  fileprivate static func text(_ data: Data) -> (text: String, encoding: String?) {
    if let text = data.withUnsafeBytes({ String(utf8Bytes: $0) }) { return (text, nil) }
    return (data.base64EncodedString(), "base64")
  }
}
