import Foundation

/// One call of an API: its URL, method, header fields, body, and how long the response may be cached. Usually an enum
/// with a case for each call.
///
/// Only ``host`` and ``path`` are required.
public protocol PrismNetworkEndpoint: PrismLogger, Sendable {
  /// The scheme. Defaults to `.https`.
  var scheme: PrismNetworkScheme { get }
  /// The host: a name or an address, without a port.
  var host: String { get }
  /// The port. Defaults to `nil`: the default port of the scheme.
  var port: Int? { get }
  /// The path, which starts with a slash and is not percent-encoded: a `?`, a space or a `%` in it is part of a name. A
  /// `..` segment is ``PrismNetworkError/invalidURL``.
  var path: String { get }
  /// The method. Defaults to `.get`.
  var method: PrismNetworkMethod { get }
  /// The query items, in order, not percent-encoded. Defaults to `nil`.
  var queryItems: [URLQueryItem]? { get }
  /// The header fields. Defaults to `[:]`.
  var headers: [String: String] { get }
  /// The body: a `String` or `Data` as its bytes, a ``PrismMultipartFormData`` as a form, every other value as compact
  /// JSON with ISO 8601 dates. Unless ``headers`` contain a `Content-Type`, the matching one is sent. Defaults to
  /// `nil`.
  var body: (any Encodable)? { get }
  /// The idle timeout of the exchange, in seconds. Defaults to `nil`: the session's `timeoutIntervalForRequest`. A value
  /// that is not positive and finite counts as `nil`.
  var timeoutInterval: TimeInterval? { get }
  /// The time for which the response to a GET may be served from the cache, in seconds. Defaults to `nil`: not at all.
  /// A response to a GET with a form is not stored.
  var cacheInterval: TimeInterval? { get }
}

// The requirements above document the defaults.
// swift-format-ignore: AllPublicDeclarationsHaveDocumentation
extension PrismNetworkEndpoint {
  public var scheme: PrismNetworkScheme { .https }
  public var port: Int? { nil }
  public var method: PrismNetworkMethod { .get }
  public var queryItems: [URLQueryItem]? { nil }
  public var headers: [String: String] { [:] }
  public var body: (any Encodable)? { nil }
  public var timeoutInterval: TimeInterval? { nil }
  public var cacheInterval: TimeInterval? { nil }
}

/// The scheme of an endpoint's URL.
public enum PrismNetworkScheme: String, CaseIterable, Sendable {
  /// Unencrypted HTTP.
  case http
  /// Encrypted HTTP.
  case https
  /// An unencrypted WebSocket.
  case ws
  /// An encrypted WebSocket.
  case wss
}

/// The method of a request.
public enum PrismNetworkMethod: String, CaseIterable, Sendable {
  /// Retrieves a resource.
  case get = "GET"
  /// Creates a resource.
  case post = "POST"
  /// Replaces a resource.
  case put = "PUT"
  /// Changes a part of a resource (RFC 5789).
  case patch = "PATCH"
  /// Removes a resource.
  case delete = "DELETE"
}

/// Media types for `Content-Type` and `Accept`.
public enum PrismNetworkHeaderType: String, CaseIterable, Sendable {
  /// JSON (RFC 8259).
  case json = "application/json"
  /// A URL-encoded form.
  case formURLEncoded = "application/x-www-form-urlencoded"
  /// A form with files (RFC 7578). As a `Content-Type` it needs a boundary parameter.
  case multipartFormData = "multipart/form-data"
  /// Plain text.
  case plainText = "text/plain"
  /// HTML.
  case html = "text/html"
  /// XML (RFC 7303).
  case xml = "application/xml"
  /// A CSS style sheet (RFC 2318).
  case css = "text/css"
  /// JavaScript (RFC 9239).
  case javascript = "text/javascript"
  /// Bytes of unknown type.
  case octetStream = "application/octet-stream"
  /// A JPEG image.
  case jpeg = "image/jpeg"
  /// A PNG image.
  case png = "image/png"
  /// A GIF image.
  case gif = "image/gif"
  /// An SVG image.
  case svg = "image/svg+xml"
  /// MP3 audio (RFC 3003).
  case mp3 = "audio/mpeg"
  /// An MPEG-4 video.
  case mp4 = "video/mp4"
  /// A PDF document.
  case pdf = "application/pdf"
  /// A ZIP archive.
  case zip = "application/zip"
  /// Any media type; for `Accept` (RFC 9110 §12.5.1).
  case any = "*/*"
  /// Any image; for `Accept`.
  case image = "image/*"
  /// Any audio; for `Accept`.
  case audio = "audio/*"
  /// Any video; for `Accept`.
  case video = "video/*"
}

extension PrismNetworkEndpoint {
  /// The URL built from scheme, host, port, path and query items.
  ///
  /// Throws ``PrismNetworkError/invalidURL`` if they do not form a valid URL.
  public var url: URL {
    get throws { try PrismNetworkFailure.surfacing { try EndpointURL.make(of: self) } }
  }

  /// The request as it is sent.
  ///
  /// Its `cachePolicy` is for a session of your own: `.returnCacheDataElseLoad` for a GET with a `cacheInterval`,
  /// otherwise `.reloadIgnoringLocalCacheData`. A ``PrismNetworkAdapter`` decides by the interval itself.
  ///
  /// Throws ``PrismNetworkError/invalidURL``, or ``PrismNetworkError/badRequest`` for a header field that RFC 9110
  /// forbids and for a body that cannot be encoded.
  public var request: URLRequest {
    get throws {
      var request = try PrismNetworkFailure.surfacing { try makeRequest() }.urlRequest
      let isCached = method == .get && Duration(cacheInterval: cacheInterval) != nil
      request.cachePolicy = isCached ? .returnCacheDataElseLoad : .reloadIgnoringLocalCacheData
      return request
    }
  }

  /// Writes the method, the URL and the names of the header fields to the log. The values of header fields and query
  /// items, and the body, are left out, because they may be secret.
  public func log() {
    let target = (try? EndpointURL.make(of: self).redactedForLog) ?? "<invalid URL>"
    DeveloperLog.write(method.rawValue, target, fields: headers)
  }

  /// Builds the request of this endpoint; throws a `PrismNetworkFailure` with the details of the error.
  func makeRequest() throws -> HTTPRequest {
    let url = try EndpointURL.make(of: self)
    do {
      var fields = try HeaderFields(headers)
      let body = try body.map { try EndpointBody($0) }
      if let body { try fields.describe(body.contentType) }
      var request = HTTPRequest(method: method.rawValue, url: url, fields: fields.list, body: body?.body)
      if let length = request.bodySource?.length { request.set("Content-Length", "\(length)") }
      if let timeoutInterval, Duration(timeInterval: timeoutInterval) != nil {
        request.timeoutInterval = timeoutInterval
      }
      return request
    } catch {
      throw PrismNetworkFailure(.badRequest, because: error, url: url)
    }
  }
}

enum EndpointURL {
  static func make<Endpoint: PrismNetworkEndpoint>(of endpoint: Endpoint) throws -> URL {
    guard let url = url(of: endpoint), url.host?.isEmpty == false else {
      throw PrismNetworkFailure(.invalidURL)
    }
    return url
  }

  private static func url<Endpoint: PrismNetworkEndpoint>(of endpoint: Endpoint) -> URL? {
    var components = URLComponents()
    components.scheme = endpoint.scheme.rawValue
    guard let host = host(endpoint.host) else { return nil }
    components.host = host
    if let port = endpoint.port {
      guard (1...65_535).contains(port) else { return nil }
      components.port = port
    }
    let path = endpoint.path
    guard path.isEmpty || path.hasPrefix("/"), let base = components.url,
      let url = try? RequestURL.make(base: base, path: path, pathIsPercentEncoded: false, queryParameters: nil)
    else { return nil }
    guard let query = query(endpoint.queryItems) else { return url }
    return URL(string: url.absoluteString + "?" + query)
  }

  /// Returns a name or an address (RFC 3986 §3.2.2); `nil` for a text that would end the authority, or be encoded to
  /// something else.
  private static func host(_ host: String) -> String? {
    if host.hasPrefix("[") { return host.hasSuffix("]") ? host : nil }
    if host.contains(":") {
      // `::1` is an address; `name:80` is a host and a port, which have properties of their own.
      return host.utf8.allSatisfy { PercentEncoding.value(ofDigit: $0) != nil || ":.".utf8.contains($0) }
        && host.utf8.lazy.filter { $0 == UInt8(ascii: ":") }.count > 1 ? "[\(host)]" : nil
    }
    let isName = host.unicodeScalars.allSatisfy {
      $0.isASCII ? Characters.host.contains(UInt8($0.value)) : !$0.properties.isWhitespace
    }
    return isName && !host.isEmpty ? host : nil
  }

  /// Returns the query, the items in their order. `+` and `;`, which `URLComponents` leaves unencoded, are encoded as
  /// well: form decoders read them as a space and as a separator.
  private static func query(_ items: [URLQueryItem]?) -> String? {
    guard let items, !items.isEmpty else { return nil }
    var bytes: [UInt8] = []
    EncodedPairs.append(items, to: &bytes) { PercentEncoding.append($0, to: &$1, allowed: Characters.query) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private enum Characters {
    static let host = ByteSet.alphanumerics(and: "-._~")
    /// The characters of `query` (RFC 3986 §3.4) without the separators of items.
    static let query = ByteSet.alphanumerics(and: "-._~!$'()*,:@/?")
  }
}

struct EndpointBody {
  let body: HTTPRequest.Body
  let contentType: String

  static var encoder: JSONEncoder {
    let encoder = JSONEncoder()
    // Sorted keys: the same value has the same bytes each time, and in a query the same URL.
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
  }

  init(_ value: any Encodable) throws {
    switch value {
    case let text as String:
      body = .data(Data(text.utf8))
      contentType = PrismNetworkHeaderType.plainText.rawValue + "; charset=utf-8"
    case let bytes as Data:
      body = .data(bytes)
      contentType = PrismNetworkHeaderType.octetStream.rawValue
    case let form as PrismMultipartFormData:
      body = .stream(BodyInputStream(.segments(try form.segments())))
      contentType = form.contentType
    default:
      body = .data(try Self.encoder.encode(value))
      contentType = PrismNetworkHeaderType.json.rawValue
    }
  }
}
