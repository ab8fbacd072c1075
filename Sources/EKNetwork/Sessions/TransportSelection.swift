import Foundation

/// Selects the implementation that sends the requests of a session.
enum TransportSelection {
  static func transport(for session: any URLSessionProtocol, choice: TransportChoice = .automatic) -> any Transport {
    guard let session = session as? URLSession else { return SessionTransport(session) }
    return transport(for: session, choice: choice)
  }

  static func transport(
    for session: any URLSessionStreamingProtocol, choice: TransportChoice = .automatic
  ) -> any Transport {
    guard let session = session as? URLSession else { return StreamingSessionTransport(session) }
    return transport(for: session, choice: choice)
  }

  /// Returns the transport of a `URLSession`: on Linux the library's own, unless the session was customised with code that must
  /// handle the requests; everywhere else the session.
  static func transport(for session: URLSession, choice: TransportChoice = .automatic) -> any Transport {
    if let problem = choice.connectionOptions?.tls?.problem {
      return UnavailableTransport(problem, route: choice.connectionOptions?.route)
    }
    #if os(Linux)
      if let options = choice.connectionOptions {
        if let problem = options.route.problem { return UnavailableTransport(problem, route: options.route) }
        return HTTPTransport(configuration: session.configuration, options: options, session: session)
          ?? UnavailableTransport(
            options.tls == nil ? .resourceUnavailable : .secureConnectionFailed,
            "Connection options need libcurl. \(TransportDescription.current.reason ?? "")",
            route: options.route)
      }
      if choice == .automatic, !isCustomised(session),
        let transport = HTTPTransport(configuration: session.configuration, session: session)
      {
        return transport
      }
    #elseif canImport(Darwin)
      if let options = choice.connectionOptions, options != ConnectionOptions(tls: options.tls) {
        return UnavailableTransport(
          .resourceUnavailable,
          """
          URLSession chooses the version of HTTP and the interface itself, connects to hosts only, has no limit for \
          connecting, takes proxies from its configuration, and looks up names as the system does.
          """,
          route: options.route)
      }
      if let options = choice.connectionOptions?.tls {
        // A private key in a file is not an identity: the system keeps those in a keychain.
        guard options.clientCertificate == nil else {
          return UnavailableTransport(
            .clientCertificateRejected,
            "A client certificate must be presented by the session's delegate, not by TLSOptions.")
        }
        // A second session with the same identifier may receive the callbacks of the first.
        guard session.configuration.identifier == nil else {
          return UnavailableTransport(.resourceUnavailable, "TLSOptions cannot be used with a background session.")
        }
        return URLSessionTransport(session, host: .shared(for: session, options), trust: .options(options))
      }
    #endif
    return URLSessionTransport(session)
  }

  #if os(Linux)
    private static func isCustomised(_ session: URLSession) -> Bool {
      if session.delegate != nil || type(of: session) != URLSession.self { return true }
      // A configuration starts with FoundationNetworking's own classes; `URLSession.shared` has none at all.
      return (session.configuration.protocolClasses ?? []).contains {
        !String(reflecting: $0).hasPrefix("FoundationNetworking.")
      }
    }
  #endif
}

/// The implementation that sends the requests of a `URLSession`.
public enum TransportChoice: Sendable, Equatable {
  /// The best implementation of the platform: `URLSession` on Apple's platforms; on Linux the library's own, unless the session has
  /// a delegate or custom `URLProtocol` classes, or is an instance of a subclass: that code then handles its requests as
  /// usual.
  case automatic
  /// Foundation's own implementation on every platform.
  case urlSession
  /// TLS with certificates other than the system's, or with pinned keys: on Linux over the library's own
  /// implementation, on Apple's platforms over a separate session with the same configuration. The session's delegate is not called.
  case secured(by: TLSOptions)
  /// Connections with options, of which TLS is one: a version of HTTP, a Unix domain socket.
  case connecting(with: ConnectionOptions)

  var connectionOptions: ConnectionOptions? {
    switch self {
    case .automatic, .urlSession: nil
    case .secured(let tls): ConnectionOptions(tls: tls)
    case .connecting(let options): options
    }
  }
}

/// A transport in front of another, which has its properties.
protocol WrappingTransport: Transport {
  var wire: any Transport { get }
}

extension WrappingTransport {
  var resolvesRedirects: Bool { wire.resolvesRedirects }
  var countsSentBytes: Bool { wire.countsSentBytes }
  var resourceTimeout: Duration? { wire.resourceTimeout }
  var implementation: TransportDescription? { wire.implementation }
  var connectionSettings: ConnectionSettings { wire.connectionSettings }
  var sessionSettings: SessionSettings { wire.sessionSettings }
}

/// A transport that fails every request, for options that no implementation supports: nothing is sent over a connection
/// that is less secure than required.
struct UnavailableTransport: Transport {
  let error: URLError
  /// Where requests were meant to go: a WebSocket beside them must not go elsewhere.
  private let route: ConnectionRoute

  init(_ error: URLError, route: ConnectionRoute? = nil) {
    self.error = error
    self.route = route ?? ConnectionRoute()
  }

  init(_ code: URLError.Code, _ description: String, route: ConnectionRoute? = nil) {
    self.init(URLError(code, url: nil, description: description), route: route)
  }

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }
  let sessionSettings = SessionSettings.opaque()
  var connectionSettings: ConnectionSettings { ConnectionSettings(trust: .unavailable(error), route: route) }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    throw error.replacingURL(with: request.sent.url)
  }
}

/// A transport over any `URLSessionProtocol` that is not a `URLSession`: a mock in tests, or a custom session.
///
/// The session is called on its own actor if it has one, not on the caller's. Whether redirects are followed is up to
/// the session; its errors are passed through unchanged, and so is a response that is not HTTP.
/// `TransportRequest.deadline` is not enforced: a session that is bound to its caller's actor cannot be raced against a
/// clock.
struct SessionTransport: Transport {
  // Not Sendable, because a mock need not be. The rule: it is only ever called from the context that called `send`, so
  // an actor-isolated mock stays on its actor; one that is used concurrently has to be safe for that itself, as it
  // would have to be without this library.
  nonisolated(unsafe) private let session: any URLSessionProtocol

  init(_ session: any URLSessionProtocol) {
    self.session = session
    sessionSettings = .opaque(of: type(of: session) is AnyClass ? session as AnyObject : nil)
  }

  /// Opaque: what the session adds to a request, and for which user, is unknown.
  let sessionSettings: SessionSettings

  var resolvesRedirects: Bool { true }
  /// A session does not tell what it has sent when it fails.
  var countsSentBytes: Bool { false }

  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    let urlRequest = try request.sent.withUnreadBody().urlRequest
    let data: Data
    let response: URLResponse
    do {
      (data, response) = try await session.data(for: urlRequest)
    } catch {
      // Sessions report cancellation in errors of their own (mostly URLError.cancelled).
      if Task.isCancelled { throw CancellationError() }
      throw error
    }
    // The session may ignore cancellation: its result is then discarded.
    try Task.checkCancellation()
    if let sent = request.sent.data?.count, sent > 0 { request.onSend?(Int64(sent), Int64(sent)) }
    let head = ResponseHead(response)
    if !data.isEmpty, let observer = request.onReceive, observer.observes(head) {
      observer.report(Int64(data.count), Int64(data.count))
    }
    return TransportResponse(head: head, body: BufferedBody(data))
  }
}

/// A transport over any injected `URLSessionStreamingProtocol` that is not a `URLSession`. Whether redirects are
/// followed is up to the session; its errors are passed through unchanged. A session that ignores cancellation does not
/// keep the caller.
struct StreamingSessionTransport: Transport {
  private let session: any URLSessionStreamingProtocol

  init(_ session: any URLSessionStreamingProtocol) {
    self.session = session
    sessionSettings = .opaque(of: type(of: session) is AnyClass ? session as AnyObject : nil)
  }

  /// Opaque: what the session adds to a request, and for which user, is unknown.
  let sessionSettings: SessionSettings

  var resolvesRedirects: Bool { true }
  var countsSentBytes: Bool { false }
  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    let urlRequest = try request.sent.withUnreadBody().urlRequest
    do {
      return try await withPromptCancellation { [session] in
        let (chunks, response) = try await session.dataStream(for: urlRequest)
        try Task.checkCancellation()
        return TransportResponse(head: ResponseHead(response), body: ChunkStreamBody(chunks))
      }
    } catch {
      // Sessions report cancellation in errors of their own.
      if Task.isCancelled { throw CancellationError() }
      throw error
    }
  }
}
