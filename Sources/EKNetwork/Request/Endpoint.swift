import Foundation

/// A request as a value, for APIs that are described by functions instead of a type for each request.
///
/// ```swift
/// extension NetworkRequest where Self == Endpoint<User> {
///   static func user(_ id: Int) -> Self { Endpoint("users/\(id)") }
/// }
/// let user = try await manager.send(.user(42))
/// ```
///
/// Its properties are those of ``NetworkRequest``. A request that needs others is a type of its own.
public struct Endpoint<Output: Decodable>: NetworkRequest {
  /// The type that the response body decodes to.
  public typealias Response = Output

  /// The request method.
  public var method: HTTPMethod
  /// The path, as ``NetworkRequest/path``.
  public var path: String
  /// The query items, as ``NetworkRequest/queryParameters``.
  public var queryParameters: [String: String]?
  /// The header fields, as ``NetworkRequest/headers``.
  public var headers: [String: String]?
  /// The body.
  public var body: RequestBody?
  /// Query items with repeated names, as ``NetworkRequest/orderedQuery``. Defaults to `nil`.
  public var orderedQuery: [URLQueryItem]?
  /// A whole URL in place of the path, as ``NetworkRequest/targetURL``. Defaults to `nil`.
  public var targetURL: URL?
  /// The maximum time without progress, as ``NetworkRequest/timeout``. Defaults to `nil`: that of the client's
  /// ``RequestDefaults``, or the session's.
  public var timeout: Duration? {
    get { ownTimeout ?? ClientDefaults.current?.timeout }
    set { ownTimeout = newValue }
  }
  /// The policy for repeating a failed attempt. Defaults to that of the client's ``RequestDefaults``, or to `RetryPolicy()`: no
  /// retries.
  public var retryPolicy: RetryPolicy {
    get { ownRetryPolicy ?? ClientDefaults.current?.retryPolicy ?? RetryPolicy() }
    set { ownRetryPolicy = newValue }
  }
  /// The statuses of which a response is the result. Defaults to those of the client's ``RequestDefaults``, or to
  /// ``StatusCodes/successful``.
  public var acceptedStatuses: StatusCodes {
    get { ownAcceptedStatuses ?? ClientDefaults.current?.acceptedStatuses ?? .successful }
    set { ownAcceptedStatuses = newValue }
  }

  private var ownTimeout: Duration?
  private var ownRetryPolicy: RetryPolicy?
  private var ownAcceptedStatuses: StatusCodes?

  /// Creates a request.
  ///
  /// - Parameters:
  ///   - method: The request method.
  ///   - path: The path, which is appended to the base URL's path and percent-encoded.
  ///   - query: The query items, sent sorted by name. Defaults to `nil`.
  ///   - headers: The header fields. Defaults to `nil`.
  ///   - body: The body. Defaults to `nil`.
  ///   - targetURL: A whole URL in place of the path. Defaults to `nil`.
  ///   - timeout: The maximum time without progress. Defaults to `nil`, as for the property; so do the last two.
  ///   - retryPolicy: The policy for repeating a failed attempt.
  ///   - acceptedStatuses: The statuses of which a response is the result.
  public init(
    _ method: HTTPMethod, _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil,
    body: RequestBody? = nil, targetURL: URL? = nil, timeout: Duration? = nil, retryPolicy: RetryPolicy? = nil,
    acceptedStatuses: StatusCodes? = nil
  ) {
    self.method = method
    self.path = path
    queryParameters = query
    self.headers = headers
    self.body = body
    self.targetURL = targetURL
    ownTimeout = timeout
    ownRetryPolicy = retryPolicy
    ownAcceptedStatuses = acceptedStatuses
  }

  /// Creates a GET. The parameters are those of the other initializer.
  public init(
    _ path: String, query: [String: String]? = nil, headers: [String: String]? = nil, targetURL: URL? = nil,
    timeout: Duration? = nil, retryPolicy: RetryPolicy? = nil, acceptedStatuses: StatusCodes? = nil
  ) {
    self.init(
      .get, path, query: query, headers: headers, targetURL: targetURL, timeout: timeout, retryPolicy: retryPolicy,
      acceptedStatuses: acceptedStatuses)
  }
}

extension Endpoint: Redacted {
  var redacted: String { FailedExchange(method: method.rawValue, url: targetURL ?? URL(string: path)).request }
}
