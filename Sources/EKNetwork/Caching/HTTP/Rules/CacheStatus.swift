/// How a cache came to its response, for the `Cache-Status` field (RFC 9211 §2).
struct CacheStatus: Sendable, Equatable {
  /// §2.2: why the request was sent.
  enum Forward: String, Sendable {
    /// The cache was told to keep out.
    case bypass
    /// The method's semantics require it.
    case method
    /// Nothing is stored for the URL.
    case uriMiss = "uri-miss"
    /// What is stored for the URL, this request does not select.
    case varyMiss = "vary-miss"
    /// A stored response could have been used, but the request asked for a newer one.
    case request
    /// The stored response was stale.
    case stale
  }

  static let field = "Cache-Status"
  static let name = "EKNetwork"

  /// `nil` for a hit.
  var forward: Forward?
  /// The status of the response that came, where it is not the one that is handed out.
  var forwardStatus: Int?
  var isStored = false
  /// §2.6: whether the request waited for another one's response.
  var isCollapsed = false
  /// §2.4: seconds for which the response is still fresh; negative: for which it has been stale.
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
    if let remaining { text += "; ttl=\(Int(min(max(remaining.rounded(.down), -2e9), 1e11)))" }
    if isStored { text += "; stored" }
    if isCollapsed { text += "; collapsed" }
    if let detail { text += "; detail=\(detail)" }
    return text
  }
}
