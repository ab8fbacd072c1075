import Foundation

/// A HAR 1.2 file as it is written. Names that begin with an underscore are extensions, which the format allows.
enum HARDocument {
  static func data(_ exchanges: [HARExchange], redaction: HARRedaction, dropped: Int) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let log = object([
      "version": "1.2", "creator": ["name": "EKNetwork", "version": "0.1.0"],
      "_redaction": try JSONValue(encoding: redaction),
      "comment": dropped > 0 ? "\(dropped) older entries were dropped" : .null,
    ])
    // Entry by entry: encoding all of them at once would take several times the memory.
    var data = Data("{\"log\":".utf8) + (try encoder.encode(log)).dropLast() + Data(",\"entries\":[".utf8)
    for (index, exchange) in exchanges.enumerated() {
      if index > 0 { data.append(UInt8(ascii: ",")) }
      data.append(UInt8(ascii: "\n"))
      data.append(try encoder.encode(entry(exchange)))
    }
    return data + Data("\n]}}\n".utf8)
  }

  private static func entry(_ exchange: HARExchange) -> JSONValue {
    let version = JSONValue.string(exchange.protocolName ?? "unknown")
    let started = exchange.started.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    return object([
      "startedDateTime": .string(started), "time": .double(exchange.timings.time),
      "request": request(exchange.request, version), "response": response(exchange, version), "cache": [:],
      "timings": .object(exchange.timings.phases.mapValues(JSONValue.double)),
      "serverIPAddress": text(exchange.remoteAddress),
      // By which the developer tools of browsers sort and filter.
      "_resourceType": "fetch",
    ])
  }

  private static func request(_ request: HARRequest, _ version: JSONValue) -> JSONValue {
    let query = URLComponents(string: request.url)?.queryItems ?? []
    return object([
      "method": .string(request.method), "url": .string(request.url), "httpVersion": version,
      // Cookies are in the header fields.
      "cookies": [], "headers": fields(request.fields),
      "queryString": .array(query.map { field($0.name, $0.value ?? "") }),
      "postData": request.body.map(postData) ?? .null, "headersSize": -1,
      "bodySize": .int(request.body.map { $0.size ?? -1 } ?? 0),
      "_fingerprints": request.fingerprints.isEmpty ? .null : .object(request.fingerprints.mapValues(JSONValue.string)),
    ])
  }

  private static func postData(_ body: HARRequestBody) -> JSONValue {
    let (content, encoding) = encoded(body.data ?? Data())
    var comment: String?
    if let data = body.data {
      if Int64(data.count) < body.size ?? 0 { comment = "Cut off after \(data.count) bytes" }
    } else {
      comment = body.digest == nil ? "Streamed, not kept" : "Not kept"
    }
    return object([
      "mimeType": .string(body.type), "text": content, "comment": text(comment), "_encoding": encoding,
      "_digest": text(body.digest), "_omitted": comment == nil ? .null : true,
    ])
  }

  private static func response(_ exchange: HARExchange, _ version: JSONValue) -> JSONValue {
    let response = exchange.response
    let location = try? response?.fields.single("location")
    // How many bytes a decoded body had on the wire is not known.
    let size = response?.fields.value("content-encoding") == nil ? response?.content.size : nil
    return object([
      "status": .int(Int64(response?.status ?? 0)), "statusText": .string(response?.reason ?? ""),
      "httpVersion": version, "cookies": [], "headers": response.map { fields($0.fields) } ?? [],
      "content": content(of: response), "redirectURL": .string(location ?? ""), "headersSize": -1,
      "bodySize": .int(size ?? -1),
      // The received bytes as Chromium shows them, which would otherwise add the unknown size of the head.
      "_transferSize": size.map(JSONValue.int) ?? .null, "_error": text(exchange.error),
    ])
  }

  private static func content(of response: HARExchange.Response?) -> JSONValue {
    let body = response?.content ?? HARContent()
    let (content, encoding) = encoded(body.data)
    let cut = body.data.isEmpty ? "Not kept" : "Cut off after \(body.data.count) bytes"
    return object([
      "size": .int(body.size), "mimeType": .string(response?.fields.value("content-type") ?? "x-unknown"),
      "text": content, "encoding": encoding, "comment": text(body.isTruncated ? cut : nil),
      "_pieces": body.pieces.count > 1 ? .array(body.pieces.map { .int(Int64($0)) }) : .null,
      "_truncated": body.isTruncated ? true : .null,
    ])
  }

  private static func fields(_ fields: HeaderFieldList) -> JSONValue {
    .array(fields.fields.map { field($0.name, $0.value) })
  }

  private static func field(_ name: String, _ value: String) -> JSONValue {
    ["name": .string(name), "value": .string(value)]
  }

  private static func encoded(_ data: Data) -> (JSONValue, encoding: JSONValue) {
    if let text = data.withUnsafeBytes({ String(utf8Bytes: $0) }) { return (.string(text), .null) }
    return (.string(data.base64EncodedString()), "base64")
  }

  private static func text(_ text: String?) -> JSONValue { text.map(JSONValue.string) ?? .null }

  /// Returns an object without the members that are `null`, which the format does not know.
  private static func object(_ members: [String: JSONValue]) -> JSONValue {
    .object(members.filter { $0.value != .null })
  }
}

/// A recorded request: enough to recognise it, and no more of its secrets than may be recorded.
struct HARRequest: Sendable, Equatable {
  var method: String
  var url: String
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
      let isNeutral = OriginFields.isOneTime(name) || RequestIdentity.neutral.contains(name)
      if SecretFields.contains(name), !isNeutral { result[name] = redaction.fingerprint(field.value) }
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
