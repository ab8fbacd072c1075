import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The header fields that must only be sent to the origin for which they were meant.
///
/// RFC 9110 §15.4 names `Authorization` and `Cookie`, and leaves other fields with security implications to the client:
/// here they are recognised by their names.
enum OriginFields {
  private static let exact: Set<String> = ["authorization", "proxy-authorization", "cookie", "cookie2", "host"]
  /// Words that the names of other secret fields contain. A false match only means that the field is not sent to other
  /// origins.
  private static let words = [
    "token", "secret", "password", "passwd", "auth", "session", "signature", "credential", "cookie", "api-key",
    "apikey", "api_key", "access-key", "csrf", "xsrf", "jwt", "bearer", "assertion",
  ]
  /// Fields whose names end like those of an API key, but that identify a request or a resource.
  private static let otherKeys = ["idempotency-key", "websocket-key", "surrogate-key", "cache-key"]

  static func contains(_ name: String) -> Bool {
    let name = name.lowercased()
    return exact.contains(name) || words.contains { name.contains($0) }
      || name.hasSuffix("key") && !otherKeys.contains { name.hasSuffix($0) }
  }
}

extension URLRequest {
  /// Removes the fields that must not be sent to another origin.
  ///
  /// - Parameter kept: Returns whether a field is kept nevertheless.
  mutating func removeOriginFields(unless kept: (_ name: String, _ value: String) -> Bool = { _, _ in false }) {
    for (name, value) in allHTTPHeaderFields ?? [:] where OriginFields.contains(name) && !kept(name, value) {
      setValue(nil, forHTTPHeaderField: name)
    }
  }
}
