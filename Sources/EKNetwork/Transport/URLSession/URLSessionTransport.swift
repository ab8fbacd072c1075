import Foundation

#if canImport(Darwin)
  import CSession
#endif

/// The transport over Foundation's `URLSession`: on Apple's platforms for every session, on Linux where the user
/// customised the session with code, or explicitly chose it.
///
/// On Apple's platforms the tasks run on the user's session, each with a delegate of its own. A task is suspended while
/// its consumer does not keep up.
///
/// On Linux they run on sessions of the library's own with the same configuration; redirects, challenges and upload
/// progress are forwarded to the user's delegate. The article <doc:RunningOnLinux> lists the defects of
/// FoundationNetworking that cannot be worked around.
///
/// A request with a body is never sent on a reused connection on Linux: Foundation would lose the body if the server
/// has just closed it. The price is a new connection for each such request; `Content-Length` is kept. HTTP/2 has no
/// `Connection: close`: there, a request whose body is requested again fails with `networkConnectionLost`.
struct URLSessionTransport: Transport {
  /// The number of unread bytes of a streamed body to keep. Beyond it, the task is suspended on Apple's platforms and
  /// fails on Linux.
  static var streamLimit: Int {
    #if canImport(Darwin)
      1024 * 1024
    #else
      64 * 1024 * 1024
    #endif
  }

  /// Keeps the session alive, and with it its configuration and delegate.
  private let lease: SessionLease
  private let limit: Int
  private let trust: ConnectionSettings.Trust
  let sessionSettings: SessionSettings
  var connectionSettings: ConnectionSettings { ConnectionSettings(trust: trust, proxies: sessionSettings.proxies) }

  var implementation: TransportDescription? {
    TransportDescription(implementation: .urlSession, reason: TransportDescription.current.reason)
  }

  /// - Parameters:
  ///   - host: The host that runs the session's exchanges; `nil` for the usual one.
  ///   - trust: Whom the session trusts; `nil` for the system's rules, or those of the session's delegate.
  init(
    _ session: URLSession, host: SessionHost? = nil, trust: ConnectionSettings.Trust? = nil,
    streamLimit: Int = Self.streamLimit
  ) {
    let host = host ?? SessionHost.shared(for: session)
    lease = SessionLease(session, host: host)
    limit = streamLimit
    self.trust = trust ?? Self.trust(of: session)
    let settings = host.settings
    sessionSettings =
      session.delegate == nil ? settings : SessionSettings(settings, owner: SessionRecord.of(session).name)
  }

  var resolvesRedirects: Bool { false }

  /// On Apple's platforms a delegate that receives the challenges of a session's connections usually compares pins.
  private static func trust(of session: URLSession) -> ConnectionSettings.Trust {
    #if canImport(Darwin)
      if ekn_receives_challenges(session) {
        return .unavailable(TransportOptionError(option: "the challenges of a delegate", library: "WebSocket"))
      }
    #endif
    return .system
  }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    try request.sent.checkIsSendable()
    if let deadline = request.deadline, deadline <= .now { throw URLError.timedOut(request.sent.url) }
    var request = request
    #if !canImport(Darwin)
      // Foundation ignores it, and would send the request, with its credentials, past the proxy.
      if let proxies = sessionSettings.proxies, proxies.plain != nil || proxies.secure != nil {
        throw TransportOptionError(option: "connectionProxyDictionary", library: "URLSession on Linux")
      }
      // Foundation reads streams on one queue that all sessions share, and blocks there: data that is not available yet
      // would stall the whole process.
      if let sequence = request.sent.bodyThatMayWait {
        // Within the time for the whole request: a sequence may never yield again, and ignore its cancellation.
        let timeout = URLError.timedOut(request.sent.url)
        let file = try await withPromptCancellation(by: request.deadline, error: timeout) {
          try await sequence.spooled()
        }
        let body = BodyInputStream(.segments([.file(file)]))
        request.hop = request.hop.sending(body)
      }
    #endif
    guard let host = lease.host else { throw URLError(.cancelled) }
    #if canImport(Darwin)
      let taskResponse = try host.start(request, limit: limit)
    #else
      let taskResponse = try host.start(request, limit: request.collectsBody ? .max : limit)
    #endif
    let body = URLSessionBody(taskResponse)
    let head = try await taskResponse.head()
    return TransportResponse(head: head, body: body, redirect: taskResponse.redirect)
  }
}

extension HTTPRequest {
  /// Throws for a request that Foundation would send wrongly, or fail to send, without reporting why.
  func checkIsSendable() throws {
    guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw URLError(.unsupportedURL, url: url, description: "Only http and https are supported.")
    }
    // RFC 9110 §9.1 and §5.1: methods and field names are tokens. A line break in either would start another request.
    guard HeaderSyntax.isToken(method) else {
      throw URLError(.badURL, url: url, description: "The method is not a token.")
    }
    for field in fields {
      _ = try InvalidHeaderError.checked(field.value, of: field.name)
      // The session, too, sets it for the body. Another coding would let the server see the end of the request elsewhere.
      if field.name.isFieldName("transfer-encoding"), field.value.lowercased() != "chunked" {
        throw InvalidHeaderError(field: field.name, reason: .managedByLibrary)
      }
    }
    try checkBody()
    #if canImport(Darwin)
      guard method != "GET" || data?.isEmpty ?? (body == nil) else {
        throw URLError(.dataLengthExceedsMaximum, url: url, description: "URLSession cannot send a GET with a body.")
      }
    #endif
  }

  /// Throws if none of the body, or only its end, would be sent, or trailers have to follow it, which no `URLSession` sends.
  private func checkBody() throws {
    guard !bodyStreamWasOpened else {
      throw URLError(.requestBodyStreamExhausted, url: url, description: "The body's stream was opened before.")
    }
    guard case .sequence(let sequence)? = bodySource, sequence.trailers != nil else { return }
    throw TransportOptionError(option: "the trailers of a request", library: "URLSession")
  }

  /// Returns the request for a session outside the library, with a stream that it can read from the start: an earlier
  /// attempt may have read the request's own.
  ///
  /// - Throws: `URLError.requestBodyStreamExhausted` or ``RequestBodyError/alreadySent`` if the body cannot be sent
  ///   again, ``TransportOptionError`` if trailers follow it.
  func withUnreadBody() throws -> HTTPRequest {
    try checkBody()
    guard let bodySource else { return self }
    if case .sequence(let sequence) = bodySource, sequence.isUsedUp { throw RequestBodyError.alreadySent }
    var request = self
    request.body = .stream(BodyInputStream(bodySource))
    return request
  }
}

/// The consumer's end of an exchange. Releasing it ends the exchange.
final class URLSessionBody: TransportBody {
  private let taskResponse: TaskResponseStream

  init(_ taskResponse: TaskResponseStream) { self.taskResponse = taskResponse }

  var end: ResponseEnd? { taskResponse.timings.map { ResponseEnd(timings: $0) } }

  func next() async throws -> Data? { try await taskResponse.next() }

  func cancel() { taskResponse.cancel() }

  func stopReceiving() { taskResponse.stopReceiving() }

  deinit { taskResponse.cancel() }
}

/// Whether responses may be read from, and stored in, the cache of a session.
///
/// `URLSession.shared`, and every session that is created without configuring a cache, use the process's shared cache,
/// which follows the rules of HTTP (RFC 9111). A caller expects the server's response, on every platform alike, and can
/// choose one of the library's own caches. A session with a cache, or a cache policy, of its own uses it. An ephemeral
/// session has a small in-memory cache by default, which does not count.
struct SessionCaching: Sendable, Equatable {
  private static let ephemeral = URLSessionConfiguration.ephemeral.urlCache.map(capacities)

  let isWanted: Bool

  init(_ configuration: URLSessionConfiguration) {
    guard configuration.requestCachePolicy == .useProtocolCachePolicy else {
      isWanted = true
      return
    }
    guard let cache = configuration.urlCache, cache !== URLCache.shared else {
      isWanted = false
      return
    }
    isWanted = Self.capacities(cache) != Self.ephemeral ?? [0, 0]
  }

  private static func capacities(_ cache: URLCache) -> [Int] { [cache.memoryCapacity, cache.diskCapacity] }

  /// Makes a request bypass a cache that is not wanted, unless the request has a cache policy of its own.
  func apply(to request: inout URLRequest) {
    guard !isWanted, request.cachePolicy == .useProtocolCachePolicy else { return }
    request.cachePolicy = .reloadIgnoringLocalCacheData
  }
}

extension Duration {
  /// Creates the time between two measured moments; `nil` if one is missing, or they are in the wrong order.
  init?(from start: Date?, to end: Date?) {
    guard let start, let end, end >= start else { return nil }
    self = .seconds(end.timeIntervalSince(start))
  }
}

#if canImport(Darwin)
  extension NetworkTimings {
    /// Creates the timings that the system measured for a task's last exchange.
    init?(_ metrics: URLSessionTaskMetrics) {
      guard let last = metrics.transactionMetrics.last, let start = last.fetchStartDate else { return nil }
      self.init(
        nameLookup: Duration(from: last.domainLookupStartDate, to: last.domainLookupEndDate),
        connect: Duration(from: last.connectStartDate, to: last.secureConnectionStartDate ?? last.connectEndDate),
        secureConnect: Duration(from: last.secureConnectionStartDate, to: last.secureConnectionEndDate),
        firstByte: Duration(from: start, to: last.responseStartDate),
        total: Duration(from: start, to: last.responseEndDate) ?? .seconds(metrics.taskInterval.duration),
        isConnectionReused: last.isReusedConnection,
        protocolName: last.networkProtocolName,
        remoteAddress: last.remoteAddress)
    }
  }
#endif
