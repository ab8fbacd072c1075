import Foundation

/// One call of an API: the URL, the method, headers, body and how long the response may be kept. Usually an enum with a
/// case for each call.
///
/// Only ``host`` and ``path`` are required.
public protocol PrismNetworkEndpoint: PrismLogger, Sendable {
  /// The scheme. Defaults to `.https`.
  var scheme: PrismNetworkScheme { get }
  /// The host: a name or an address, nothing else.
  var host: String { get }
  /// The port. Defaults to `nil`: that of the scheme.
  var port: Int? { get }
  /// The path, from its first slash, not percent-encoded: a `?`, a space or a `%` in it is a part of a name. A `..`
  /// segment is ``PrismNetworkError/invalidURL``.
  var path: String { get }
  /// The method. Defaults to `.get`.
  var method: PrismNetworkMethod { get }
  /// What follows the `?`, in this order, not percent-encoded. Defaults to `nil`.
  var queryItems: [URLQueryItem]? { get }
  /// Header fields. Defaults to `[:]`.
  var headers: [String: String] { get }
  /// The body: a `String` or `Data` as its bytes, a ``PrismMultipartFormData`` as a form, every other value as compact JSON with ISO 8601 dates. Where
  /// ``headers`` do not name a `Content-Type`, the one that fits is sent. Defaults to `nil`.
  var body: (any Encodable)? { get }
  /// How long the exchange may stand still, in seconds. Defaults to `nil`: the session's `timeoutIntervalForRequest`.
  var timeoutInterval: TimeInterval? { get }
  /// How long the response to a GET may be served from the cache, in seconds. Defaults to `nil`: not at all.
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
