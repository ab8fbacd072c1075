import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Builds the URL of an endpoint from its parts.
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
      return host.utf8.allSatisfy { $0.isHexDigit || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") }
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
    for (index, item) in items.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: "&")) }
      PercentEncoding.append(item.name, to: &bytes, allowed: Characters.query)
      guard let value = item.value else { continue }
      bytes.append(UInt8(ascii: "="))
      PercentEncoding.append(value, to: &bytes, allowed: Characters.query)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private enum Characters {
    static let host = ByteSet.alphanumerics(and: "-._~")
    /// The characters of `query` (RFC 3986 §3.4) without the separators of items.
    static let query = ByteSet.alphanumerics(and: "-._~!$'()*,:@/?")
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool { PercentEncoding.value(ofDigit: self) != nil }
}

/// The encoded body of an endpoint, and its content type.
struct EndpointBody {
  private enum Content {
    case data(Data)
    case source(BodySource)
  }

  private let content: Content
  let contentType: String

  init(_ body: any Encodable) throws {
    switch body {
    case let text as String:
      content = .data(Data(text.utf8))
      contentType = PrismNetworkHeaderType.plainText.rawValue + "; charset=utf-8"
    case let bytes as Data:
      content = .data(bytes)
      contentType = PrismNetworkHeaderType.octetStream.rawValue
    case let form as PrismMultipartFormData:
      content = .source(.segments(try form.segments()))
      contentType = form.contentType
    default:
      let encoder = JSONEncoder()
      // Sorted keys make the bytes the same each time.
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      content = .data(try encoder.encode(body))
      contentType = PrismNetworkHeaderType.json.rawValue
    }
  }

  /// Sets the body of the request.
  func attach(to request: inout URLRequest) {
    switch content {
    case .data(let data): request.httpBody = data
    case .source(let source): request.setBody(source)
    }
  }
}
