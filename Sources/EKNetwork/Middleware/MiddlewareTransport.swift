import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport with middleware around each of its requests. It is above the HTTP cache: what middleware adds is part of
/// the client's identity there.
struct MiddlewareTransport: Transport {
  let wire: any Transport
  let middleware: [any NetworkMiddleware]
  /// Identifies the owner of the middleware. Anything stored above this transport is keyed by the request before
  /// middleware, and is only for requests of this owner: other middleware may send the same request for another user.
  let owner: String

  var resolvesRedirects: Bool { wire.resolvesRedirects }
  var resourceTimeout: Duration? { wire.resourceTimeout }
  var implementation: TransportDescription? { wire.implementation }
  var connectionSettings: ConnectionSettings { wire.connectionSettings }
  var sessionSettings: SessionSettings {
    let settings = wire.sessionSettings
    return SessionSettings(settings, owner: owner + (settings.owner ?? ""))
  }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    let session = wire.sessionSettings
    let hop = request.hop
    let context = NetworkMiddlewareContext(isRedirected: hop.isRedirected, hasLeftOrigin: hop.hasLeftOrigin)
    let wasSent = Locked(false)
    let chain = MiddlewareChain(middleware: middleware, context: context)
    let response = try await chain.run(hop.urlRequest) { changed in
      guard Destination(changed.url) == Destination(hop.urlRequest.url) else {
        throw NetworkMiddlewareError.changedDestination
      }
      let isSecond = wasSent.withLock { wasSent in
        defer { wasSent = true }
        return wasSent
      }
      if isSecond, !changed.bodyIsReplayable { throw RequestBodyError.alreadySent }
      var request = request
      request.hop = hop.replaced(by: changed, session: session)
      if changed.httpMethod != hop.urlRequest.httpMethod { request.isIdempotent = nil }
      if middleware.contains(where: { $0 is any TimedMiddleware }) { request.wantsTimings = true }
      return try NetworkMiddlewareResponse(try await wire.start(request))
    }
    return try response.transportResponse(url: hop.urlRequest.url)
  }

  /// The destination of a request without its query, which may hold a signature.
  private struct Destination: Equatable {
    let origin: Origin?
    let path: String?

    init(_ url: URL?) {
      origin = url.flatMap { Origin($0) }
      path = url?.path(percentEncoded: true)
    }
  }
}

extension Transport {
  /// Returns the transport with the caches and the middleware of a manager, or an adapter, in front of it.
  ///
  /// - Parameter lookup: The lookup of a call's own policy; `nil` if there is none, or it has taken place.
  func behind(
    _ cache: HTTPCache?, calls: [any NetworkMiddleware], attempts: [any NetworkMiddleware], owner: String,
    lookup: PolicyLookup? = nil
  ) -> any Transport {
    var transport: any Transport = cache.map { CachingTransport(wire: self, cache: $0) } ?? self
    if let lookup { transport = PolicyTransport(wire: transport, lookup: lookup) }
    guard !calls.isEmpty || !attempts.isEmpty else { return transport }
    return MiddlewareTransport(wire: transport, middleware: attempts, owner: owner)
  }
}
