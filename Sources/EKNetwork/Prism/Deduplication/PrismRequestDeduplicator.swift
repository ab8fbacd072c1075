import Foundation

/// A deduplicator that runs equal requests once: a caller that starts a request already in flight gets the same result.
///
/// ```swift
/// let deduplicator = PrismRequestDeduplicator()
/// let key = PrismRequestDeduplicator.key(url: url, method: "GET")
/// let user = try await deduplicator.deduplicate({ try await client.request(on: request) }, key: key)
/// ```
///
/// Results are not stored: a call after the request has ended sends it again.
/// ``PrismNetworkAdapter/sharesIdenticalRequests`` and ``NetworkManager/sharesIdenticalRequests`` do the same for the
/// requests of a client, with keys of their own.
public actor PrismRequestDeduplicator {
  private nonisolated let flights = SharedFlights<String>()

  /// Creates a deduplicator. Only requests of the same deduplicator are shared.
  public init() {}

  /// Returns the result of the request in flight under this key, or runs this one if there is none.
  ///
  /// A key identifies one request per type of result: the same key with another type is another request. Where the
  /// response depends on the user, the key must identify the user: ``key(url:method:body:headers:)`` and ``key(for:)``
  /// make such keys.
  ///
  /// A caller that would wait for itself, because the request in flight waits for what the caller is part of (a token
  /// refresh, a flush or another shared request), runs its own request.
  ///
  /// - Parameters:
  ///   - request: The request to run. It runs in a task of its own, which is cancelled once every waiting caller has
  ///     been cancelled.
  ///   - key: The key of the request.
  /// - Throws: What the request throws, to every caller that waits for it, with the details that
  ///   ``PrismNetworkFailure`` has of it; `CancellationError` at once when the task of this caller is cancelled, while
  ///   the request continues for the others.
  public nonisolated func deduplicate<T: Sendable>(
    _ request: @Sendable @escaping () async throws -> T, key: String
  ) async throws -> T {
    // The request runs in a task that one of the callers has started. To the retry policy of each of them it is a
    // request that was sent, and possibly processed (RFC 9110 §9.2.2).
    let shared = try await flights.run(key) { await PrismNetworkFailure.recorded { try await request() } }
    PrismNetworkFailure.record(shared.record)
    return try shared.result.get()
  }

  nonisolated var count: Int { flights.count }

  nonisolated func waiterCount<T: Sendable>(_ key: String, _ type: T.Type) -> Int {
    flights.waiterCount(PrismNetworkFailure.Recorded<T>.self, of: key)
  }

  /// Returns a key for a request whose response is the same for every user: `GET:https://api.example.com/users/42`,
  /// followed by `:` and the SHA-256 of the body if there is one. It is the same in every run of the program.
  ///
  /// - Parameters:
  ///   - url: The URL, compared literally.
  ///   - method: The method.
  ///   - body: The body. Defaults to `nil`.
  public static func key(url: URL, method: String, body: Data? = nil) -> String {
    let name = "\(method):\(url.absoluteString)"
    return body.map { "\(name):\(SHA256.hexadecimal([UInt8]($0)))" } ?? name
  }

  /// Returns a key for a request whose response depends on the user: that of ``key(url:method:body:)``, followed by a
  /// SHA-256 of the header fields, from which no token can be recovered.
  ///
  /// - Parameters:
  ///   - url: The URL, compared literally.
  ///   - method: The method.
  ///   - body: The body; `nil` for none.
  ///   - headers: The fields that the response depends on: `Authorization`, `Cookie`, `Accept`, `Accept-Language` and
  ///     any others that the server names in `Vary` (RFC 9110 §12.5.5). The case of their names does not matter.
  public static func key(url: URL, method: String, body: Data?, headers: [String: String]) -> String {
    // The lengths make the text unambiguous: two lists of fields never have the same.
    let lines = headers.map { "\($0.key.lowercased()) \($0.value.utf8.count) \($0.value)\n" }.sorted()
    let digest = SHA256.hexadecimal(Array(lines.joined().utf8))
    return key(url: url, method: method, body: body ?? Data()) + ":" + digest
  }

  /// Returns a key that covers the whole request: method, URL, body and all header fields.
  ///
  /// A body stream has no digest: the key of such a request is different each time, so that it is never shared.
  public static func key(for request: URLRequest) -> String {
    let name = key(
      url: request.url ?? URL(fileURLWithPath: "/"), method: request.httpMethod ?? "GET", body: request.httpBody,
      headers: request.allHTTPHeaderFields ?? [:])
    return request.httpBodyStream == nil ? name : name + ":" + UUID().uuidString
  }
}
