/// The request methods of RFC 9110 §9 and RFC 5789.
public enum HTTPMethod: String, CaseIterable, Sendable {
  /// Transfers a representation (RFC 9110 §9.3.1).
  case get = "GET"
  /// Has the resource process the content (§9.3.3).
  case post = "POST"
  /// Replaces the representation (§9.3.4).
  case put = "PUT"
  /// Removes the resource's association (§9.3.5).
  case delete = "DELETE"
  /// Changes a part of the resource (RFC 5789).
  case patch = "PATCH"
  /// Like GET, but without the response content (RFC 9110 §9.3.2).
  case head = "HEAD"
  /// Requests the communication options of the resource (§9.3.7).
  case options = "OPTIONS"
  /// Loops the request back (§9.3.8).
  case trace = "TRACE"
  /// Establishes a tunnel through a proxy (§9.3.6).
  case connect = "CONNECT"

  /// Whether several identical requests have the same effect as one (RFC 9110 §9.2.2).
  public var isIdempotent: Bool {
    switch self {
    case .get, .head, .put, .delete, .options, .trace: true
    case .post, .patch, .connect: false
    }
  }
}
