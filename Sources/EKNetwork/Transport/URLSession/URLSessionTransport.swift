import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif
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
    lease = SessionLease(session, host: host)
    limit = streamLimit
    self.trust = trust ?? Self.trust(of: session)
    let settings = lease.host.settings
    sessionSettings =
      session.delegate == nil ? settings : SessionSettings(settings, owner: SessionOwners.name(of: session))
  }

  var resolvesRedirects: Bool { false }

  var resourceTimeout: Duration? { sessionSettings.resourceTimeout }

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
    #if canImport(Darwin)
      try await start(request, limit: limit)
    #else
      try await start(request, limit: request.collectsBody ? .max : limit)
    #endif
  }

  private func start(_ request: TransportRequest, limit: Int) async throws -> TransportResponse {
    try Task.checkCancellation()
    try request.urlRequest.checkIsSendable()
    if let deadline = request.deadline, deadline <= .now { throw URLError.timedOut(request.urlRequest.url) }
    var request = request
    #if !canImport(Darwin)
      // Foundation reads streams on one queue that all sessions share, and blocks there: data that is not available yet
      // would stall the whole process.
      if case .sequence(let sequence)? = (request.urlRequest.httpBodyStream as? BodyInputStream)?.source {
        let file = try await sequence.spooled(by: request.deadline, for: request.urlRequest.url)
        let body = BodyInputStream(.segments([.file(file)]))
        request.hop = request.hop.sending(body)
      }
    #endif
    let taskResponse = try lease.host.start(request, limit: limit)
    let body = URLSessionBody(taskResponse)
    let head = try await taskResponse.head()
    return TransportResponse(head: ResponseHead(head.response), body: body, redirect: head.redirect)
  }
}

extension URLRequest {
  /// Throws for a request that Foundation would send wrongly, or fail to send, without reporting why.
  func checkIsSendable() throws {
    guard let scheme = url?.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw URLError(.unsupportedURL, url: url, description: "Only http and https are supported.")
    }
    // RFC 9110 §9.1 and §5.1: methods and field names are tokens. A line break in either would start another request.
    guard HeaderSyntax.isToken(httpMethod ?? "GET") else {
      throw URLError(.badURL, url: url, description: "The method is not a token.")
    }
    for (name, value) in allHTTPHeaderFields ?? [:] {
      guard HeaderSyntax.isToken(name) else { throw InvalidHeaderError(field: name, reason: .invalidName) }
      guard HeaderSyntax.trimmedValue(value) != nil else {
        throw InvalidHeaderError(field: name, reason: .invalidValue)
      }
    }
    if bodyStreamWasOpened {
      throw URLError(.requestBodyStreamExhausted, url: url, description: "The body's stream was opened before.")
    }
    try checkHasNoTrailers()
    #if canImport(Darwin)
      guard httpMethod ?? "GET" != "GET" || (httpBody ?? Data()).isEmpty && httpBodyStream == nil else {
        throw URLError(.dataLengthExceedsMaximum, url: url, description: "URLSession cannot send a GET with a body.")
      }
    #endif
  }
}

extension URLRequest {
  /// Throws if trailers have to follow the body: no `URLSession` can send them.
  func checkHasNoTrailers() throws(TransportOptionError) {
    guard let body = httpBodyStream as? BodyInputStream, case .sequence(let sequence) = body.source,
      sequence.trailers != nil
    else { return }
    throw TransportOptionError(option: "the trailers of a request", library: "URLSession")
  }

  /// Returns the request for a session outside the library, with a stream that it can read from the start: an earlier
  /// attempt may have read the request's own.
  ///
  /// - Throws: `URLError.requestBodyStreamExhausted` or ``RequestBodyError/alreadySent`` if the body cannot be sent
  ///   again, ``TransportOptionError`` if trailers follow it.
  func withUnreadBody() throws -> URLRequest {
    guard !bodyStreamWasOpened else {
      throw URLError(.requestBodyStreamExhausted, url: url, description: "The body's stream was opened before.")
    }
    try checkHasNoTrailers()
    guard let body = httpBodyStream as? BodyInputStream else { return self }
    if case .sequence(let sequence) = body.source, sequence.isUsedUp { throw RequestBodyError.alreadySent }
    var request = self
    request.httpBodyStream = body.unread
    return request
  }
}
