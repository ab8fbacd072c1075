import Crypto
import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Signs each attempt for AWS with Signature Version 4: a retry gets a new date, and a redirect to another origin
/// is not signed.
struct AWSSigner: NetworkMiddleware {
  struct Credentials: Sendable {
    var accessKeyID: String
    var secretAccessKey: String
    var sessionToken: String?
  }

  let credentials: @Sendable () async throws -> Credentials
  /// The region, such as `eu-central-1`.
  let region: String
  /// The service, such as `s3` or `execute-api`.
  let service: String
  var now: @Sendable () -> Date = { Date() }

  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    guard !context.hasLeftOrigin else { return try await next(request) }
    return try await next(sign(request, with: try await credentials()))
  }

  func sign(_ request: URLRequest, with credentials: Credentials) throws -> URLRequest {
    // A stream cannot be read twice. Only S3 accepts an unsigned body, whose integrity TLS then protects.
    guard let url = request.url, let host = url.host, request.httpBodyStream == nil || service == "s3" else {
      throw URLError(.unsupportedURL)
    }
    let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
    let date = now().formatted(style)
    let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
    let hash =
      request.httpBodyStream == nil ? hexadecimal(SHA256.hash(data: request.httpBody ?? Data())) : "UNSIGNED-PAYLOAD"
    var signed = request
    signed.setValue(date, forHTTPHeaderField: "X-Amz-Date")
    if let token = credentials.sessionToken { signed.setValue(token, forHTTPHeaderField: "X-Amz-Security-Token") }
    if service == "s3" { signed.setValue(hash, forHTTPHeaderField: "X-Amz-Content-Sha256") }

    // Header fields that intermediaries do not change.
    var fields = ["host": url.port.map { "\(host):\($0)" } ?? host]
    for (name, value) in signed.allHTTPHeaderFields ?? [:] {
      let name = name.lowercased()
      if name == "content-type" || name.hasPrefix("x-amz-") {
        fields[name] = value.split(separator: " ").joined(separator: " ")
      }
    }
    let names = fields.keys.sorted()
    let canonical = [
      request.httpMethod ?? "GET", path(of: url), query(of: url),
      names.map { "\($0):\(fields[$0] ?? "")\n" }.joined(), names.joined(separator: ";"), hash,
    ].joined(separator: "\n")
    let text = "AWS4-HMAC-SHA256\n\(date)\n\(scope)\n\(hexadecimal(SHA256.hash(data: Data(canonical.utf8))))"

    var key = SymmetricKey(data: Data("AWS4\(credentials.secretAccessKey)".utf8))
    for part in scope.split(separator: "/") { key = SymmetricKey(data: code(of: String(part), key)) }
    let authorization =
      "AWS4-HMAC-SHA256 Credential=\(credentials.accessKeyID)/\(scope), SignedHeaders=\(names.joined(separator: ";")), "
      + "Signature=\(hexadecimal(code(of: text, key)))"
    signed.setValue(authorization, forHTTPHeaderField: "Authorization")
    return signed
  }

  private func code(of text: String, _ key: SymmetricKey) -> HMAC<SHA256>.MAC {
    HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)
  }

  private func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// Returns the canonical path: encoded a second time, except for S3.
  private func path(of url: URL) -> String {
    let path = url.path(percentEncoded: true)
    guard !path.isEmpty else { return "/" }
    return service == "s3" ? path : encoded(path, keeping: "/")
  }

  private func query(of url: URL) -> String {
    let items = (url.query(percentEncoded: true) ?? "").split(separator: "&").map { item in
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return (name: normal(pair[0]), value: pair.count == 2 ? normal(pair[1]) : "")
    }
    return items.sorted { $0 < $1 }.map { "\($0.name)=\($0.value)" }.joined(separator: "&")
  }

  private func normal(_ text: Substring) -> String { encoded(text.removingPercentEncoding ?? String(text)) }

  /// Percent-encodes every byte except the unreserved characters of RFC 3986.
  private func encoded(_ text: String, keeping kept: String = "") -> String {
    let allowed = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~" + kept)
    return text.addingPercentEncoding(withAllowedCharacters: allowed) ?? text
  }
}
