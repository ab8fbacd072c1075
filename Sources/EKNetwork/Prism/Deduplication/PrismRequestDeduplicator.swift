import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Runs equal requests once: who asks for what is already under way gets the same result.
///
/// ```swift
/// let deduplicator = PrismRequestDeduplicator()
/// let key = PrismRequestDeduplicator.key(url: url, method: "GET")
/// let user = try await deduplicator.deduplicate({ try await client.request(on: request) }, key: key)
/// ```
///
/// Nothing is remembered: who asks when the request is over sends it. ``PrismNetworkAdapter/sharesIdenticalRequests`` and
/// ``NetworkManager/sharesIdenticalRequests`` do the same for the requests of a client, with keys of their own.
public actor PrismRequestDeduplicator {
  private nonisolated let flights = SharedFlights<String>()

  /// A deduplicator without requests in flight. Only requests of the same deduplicator are shared.
  public init() {}

  /// The result of the request in flight under this key, or of this one if there is none.
  ///
  /// A key stands for one request of each type of result: the same key with another type is another request. Where
  /// the response depends on who asks, the key has to say who it is: ``key(url:method:body:headers:)`` and
  /// ``key(for:)`` do.
  ///
  /// - Parameters:
  ///   - request: What to do. It runs in a task of its own, which is cancelled when every waiting caller has been.
  ///   - key: What is asked for.
  /// - Throws: What the request throws, to every caller that waits for it; `CancellationError` at once when the task of this
  ///   caller is cancelled, while the request goes on for the others.
  public nonisolated func deduplicate<T: Sendable>(
    _ request: @Sendable @escaping () async throws -> T, key: String
  ) async throws -> T {
    // Work that asks for itself would wait for ever.
    let name = Name(flights: ObjectIdentifier(flights), key: key, type: ObjectIdentifier(T.self))
    let enclosing = Self.enclosing.filter { !$0.isOver }
    if enclosing.contains(where: { $0.name == name }) { return try await request() }
    return try await flights.run(key) {
      let work = EnclosingWork(name)
      defer { work.end() }
      return try await Self.$enclosing.withValue(enclosing + [work]) { try await request() }
    }
  }

  /// The requests that the current task is part of.
  @TaskLocal private static var enclosing: [EnclosingWork<Name>] = []

  private struct Name: Hashable {
    let flights: ObjectIdentifier
    let key: String
    let type: ObjectIdentifier
  }

  /// How many requests may be joined.
  nonisolated var count: Int { flights.count }

  /// How many callers wait under a key.
  nonisolated func waiterCount<T: Sendable>(_ key: String, _ type: T.Type) -> Int { flights.waiterCount(key, type) }
}

extension PrismRequestDeduplicator {
  /// A key for a request whose response is the same for every user: `GET:https://api.example.com/users/42`, and
  /// `:` with the SHA-256 of the body where there is one. It is the same in every run of the program.
  ///
  /// - Parameters:
  ///   - url: The URL, compared as it is written.
  ///   - method: The method.
  ///   - body: The body. Defaults to `nil`.
  public static func key(url: URL, method: String, body: Data? = nil) -> String {
    let name = "\(method):\(url.absoluteString)"
    return body.map { "\(name):\(SHA256.hexadecimal([UInt8]($0)))" } ?? name
  }

  /// A key for a request whose response depends on who asks: that of ``key(url:method:body:)``, and a SHA-256 of the
  /// header fields, from which no token can be read.
  ///
  /// - Parameters:
  ///   - url: The URL, compared as it is written.
  ///   - method: The method.
  ///   - body: The body; `nil` for none.
  ///   - headers: The fields that the response depends on: `Authorization`, `Cookie`, `Accept`, `Accept-Language` and
  ///     what else the server names in `Vary` (RFC 9110 §12.5.5). The case of their names does not matter.
  public static func key(url: URL, method: String, body: Data?, headers: [String: String]) -> String {
    // The lengths keep two lists of fields from having one text.
    let lines = headers.map { "\($0.key.lowercased()) \($0.value.utf8.count) \($0.value)\n" }.sorted()
    let digest = SHA256.hexadecimal(Array(lines.joined().utf8))
    return key(url: url, method: method, body: body ?? Data()) + ":" + digest
  }

  /// A key that covers a request as it stands: method, URL, body and all header fields.
  ///
  /// A body that is a stream has no digest: its key is another each time, so that such requests are never shared.
  public static func key(for request: URLRequest) -> String {
    let name = key(
      url: request.url ?? URL(fileURLWithPath: "/"), method: request.httpMethod ?? "GET", body: request.httpBody,
      headers: request.allHTTPHeaderFields ?? [:])
    return request.httpBodyStream == nil ? name : name + ":" + UUID().uuidString
  }
}
