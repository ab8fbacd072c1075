import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Foundation's own implementation: on Apple for every `URLSession`, on Linux where the user customised the session with
/// code, or insists.
///
/// On Apple the tasks run on the user's session, each with a delegate of its own. A consumer that does not keep up
/// suspends its task.
///
/// On Linux they run on sessions of our own with the same configuration; redirects, challenges and upload progress are
/// handed to the user's delegate. That is as safe as it gets. What FoundationNetworking does not let a client cure:
/// - A response with trailers, a bare status line, an interim response without a final one, or a `Content-Length` of
///   2^63 - 1 crashes the process. So does a redirect to certain malformed locations.
/// - A header line without a space after its colon, with a byte that is not UTF-8, or ended by a bare LF, and a status
///   line without the space before an absent reason phrase, lose the response: `URLError.badServerResponse`.
/// - Two different lengths wait for the timeout; a truncated gzip body counts as complete.
/// - The last one of two fields that differ in case wins; repeated fields are joined.
/// - IPv6 literals do not work.
/// - There is no back-pressure. More than ``streamLimit`` unread bytes of a streamed body are
///   `URLError.dataLengthExceedsMaximum`; the body of a redirect is kept in memory until it is complete.
/// - A request that waits on a fresh connection burns a core.
/// - A session that was invalidated cannot be told from one that was not.
/// - A `Digest` challenge cannot be answered: its 401 is the result.
///
/// A request with a body never travels on a reused connection on Linux: Foundation would lose the body when the
/// server has just closed it. The price is a connection for each such request; `Content-Length` stays. HTTP/2 does not
/// know `Connection: close`: there a body that is asked for again fails the request with `networkConnectionLost`.
struct URLSessionTransport: Transport {
  /// How many unread bytes of a streamed body are kept. On Apple the task is suspended there, on Linux it fails.
  static var streamLimit: Int {
    #if canImport(Darwin)
      1024 * 1024
    #else
      64 * 1024 * 1024
    #endif
  }

  /// Keeps the session alive: its configuration, and its delegate, are its own.
  private let lease: SessionLease
  private let limit: Int
  let sessionSettings: SessionSettings

  var implementation: TransportDescription? {
    TransportDescription(implementation: .urlSession, reason: TransportDescription.current.reason)
  }

  /// - Parameter host: What runs the session's exchanges, if that is not the usual one.
  init(_ session: URLSession, host: SessionHost? = nil, streamLimit: Int = Self.streamLimit) {
    lease = SessionLease(session, host: host)
    limit = streamLimit
    let settings = lease.host.settings
    sessionSettings =
      session.delegate == nil ? settings : SessionSettings(settings, owner: SessionOwners.name(of: session))
  }

  var resolvesRedirects: Bool { false }

  var resourceTimeout: Duration? { sessionSettings.resourceTimeout }

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
      // Foundation reads streams on the one queue that all sessions share, and waits there: what is not at hand yet
      // would hold up the whole process.
      if case .sequence(let sequence)? = (request.urlRequest.httpBodyStream as? BodyInputStream)?.source {
        let body = BodyInputStream(.segments([.file(try await sequence.spooled())]))
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
  /// Throws what Foundation would send, or stumble over, without a word.
  fileprivate func checkIsSendable() throws {
    guard let scheme = url?.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
      throw URLError(.unsupportedURL, url: url, description: "Only http and https are supported.")
    }
    // RFC 9110 §9.1 and §5.1: methods and field names are tokens. A line break in either is another request.
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
    #if canImport(Darwin)
      guard httpMethod ?? "GET" != "GET" || (httpBody ?? Data()).isEmpty && httpBodyStream == nil else {
        throw URLError(.dataLengthExceedsMaximum, url: url, description: "URLSession sends no GET with a body.")
      }
    #endif
  }
}
