/// How a cache obtained a response, for the `Cache-Status` field (RFC 9211 §2).
struct CacheStatus: Sendable, Equatable {
  /// §2.2: the reason why the request was forwarded.
  enum Forward: String, Sendable {
    /// The cache was configured not to handle the request.
    case bypass
    /// The method's semantics require it.
    case method
    /// Nothing is stored for the URL.
    case uriMiss = "uri-miss"
    /// Responses are stored for the URL, but this request selects none of them.
    case varyMiss = "vary-miss"
    /// A stored response could have been used, but the request asked for a newer one.
    case request
    /// The stored response was stale.
    case stale
  }

  static let field = "Cache-Status"
  static let name = "EKNetwork"

  /// The reason why the request was forwarded; `nil` for a hit.
  var forward: Forward?
  /// The status code of the response that was received, if it is not the one that is returned.
  var forwardStatus: Int?
  var isStored = false
  /// §2.6: whether the request waited for the response to another one.
  var isCollapsed = false
  /// §2.4: the remaining freshness lifetime, in seconds; negative if the response is stale.
  var remaining: Double?
  /// §2.8, a token.
  var detail: String?

  /// The member that this cache adds to the field.
  var text: String {
    var text = Self.name
    if let forward {
      text += "; fwd=\(forward.rawValue)"
    } else {
      text += "; hit"
    }
    if let forwardStatus { text += "; fwd-status=\(forwardStatus)" }
    if let remaining { text += "; ttl=\(Int64(min(max(remaining.rounded(.down), -2e9), 1e11)))" }
    if isStored { text += "; stored" }
    if isCollapsed { text += "; collapsed" }
    if let detail { text += "; detail=\(detail)" }
    return text
  }
}
