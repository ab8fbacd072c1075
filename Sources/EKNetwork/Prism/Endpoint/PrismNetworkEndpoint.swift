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
  /// The idle timeout of the exchange, in seconds. Defaults to `nil`: the session's `timeoutIntervalForRequest`.
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
