import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields that only the origin may see for which they were meant.
///
/// RFC 9110 §15.4 names `Authorization` and `Cookie`, and leaves the others with security implications to the client:
/// here they are known by their names.
enum OriginFields {
  private static let exact: Set<String> = ["authorization", "proxy-authorization", "cookie", "cookie2", "host"]
  /// What the names of other fields with secrets contain. One that is not a secret after all does no harm by staying.
  private static let words = [
    "token", "secret", "password", "passwd", "auth", "session", "signature", "credential", "cookie", "api-key",
    "apikey", "api_key", "access-key", "subscription-key", "functions-key", "sas-key", "master-key", "csrf", "xsrf",
    "jwt", "bearer", "assertion",
  ]

  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    return exact.contains(name) || words.contains { name.contains($0) }
  }
}

extension URLRequest {
  /// Takes away the fields that another origin than the request's must not see.
  ///
  /// - Parameter kept: Whether a field stays all the same.
  mutating func removeOriginFields(unless kept: (_ name: String, _ value: String) -> Bool = { _, _ in false }) {
    for (name, value) in allHTTPHeaderFields ?? [:] where OriginFields.contains(name) && !kept(name, value) {
      setValue(nil, forHTTPHeaderField: name)
    }
  }
}
