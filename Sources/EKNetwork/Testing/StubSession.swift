import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session for tests, which sends configured replies without using the network.
///
/// ```swift
/// let session = StubSession()
/// session.on(.get, "/users/42", .json(#"{"id":42,"name":"Alice"}"#))
/// session.on(.post, "/users", .status(503), .json(#"{"id":43,"name":"Bob"}"#, status: 201))
/// let manager = NetworkManager(baseURL: url, session: session)
/// ```
///
/// Each session has its own routes, so that tests can run concurrently. Streams receive the replies in pieces. A reply
/// that is delayed beyond the request's `timeoutInterval` becomes `URLError.timedOut`. A request without a route throws
/// ``UnexpectedRequest``, which lists the existing routes.
public final class StubSession: URLSessionProtocol, URLSessionStreamingProtocol, Sendable {
  /// The error of a request without a route. It passes through ``NetworkManager`` unchanged.
  public struct UnexpectedRequest: LocalizedError, Sendable, CustomStringConvertible {
    /// The method and the path of the request.
    public let request: String
    /// The existing routes, in the order in which they were added.
    public let routes: [String]

    /// The request and the routes on one line.
    public var description: String {
      "No route for \(request). Routes: " + (routes.isEmpty ? "none" : routes.joined(separator: ", "))
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
  }

  private struct State {
    var routes = StubRoutes()
    var requests: [URLRequest] = []
  }

  private let state = Locked(State())
  private let clock: any Clock<Duration>

  /// Creates a session without routes.
  ///
  /// - Parameter clock: The clock for ``Reply/after(_:)``.
  public init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

  /// Sets the replies to requests, which are sent one after another; the last one is repeated.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - path: The URL's path as it is sent, percent-encoded, without the query; `*` matches one segment. If several
  ///     routes match, the one that was added last is used.
  ///   - replies: The replies. If there are none, the route is removed.
  public func on(_ method: HTTPMethod, _ path: String, _ replies: Reply...) {
    state.withLock { $0.routes.set(method.rawValue, path, replies: replies) }
  }

  /// Sets a closure that makes the replies to requests.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - path: As for ``on(_:_:_:)``.
  ///   - reply: Called for each request, on any thread, and concurrently for concurrent requests. An error that it
  ///     throws fails the request.
  public func on(_ method: HTTPMethod, _ path: String, reply: @escaping @Sendable (URLRequest) async throws -> Reply) {
    state.withLock { $0.routes.set(method.rawValue, path, closure: reply) }
  }

  /// The requests so far, in order, unexpected ones included.
  public var requests: [URLRequest] { state.withLock { $0.requests } }

  /// Returns the reply to a request with the whole body. Throws the error of the reply, ``UnexpectedRequest``, or
  /// `CancellationError` when the task is cancelled.
  public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    let (reply, response) = try await reply(to: request)
    if let failure = reply.failure { throw failure }
    return (reply.pieces.reduce(into: Data()) { $0 += $1 }, response)
  }

  /// Returns the reply to a request with the body in pieces. Throws as ``data(for:)`` does; the stream throws a failure
  /// after the response head.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    let (reply, response) = try await reply(to: request)
    let stream = AsyncThrowingStream<Data, Error> { continuation in
      for piece in reply.pieces { continuation.yield(piece) }
      continuation.finish(throwing: reply.failure)
    }
    return (stream, response)
  }

  private func reply(to request: URLRequest) async throws -> (Reply, HTTPURLResponse) {
    guard let url = request.url else { throw URLError(.badURL) }
    let method = request.httpMethod ?? "GET"
    let path = URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? url.path
    let (source, routes) = state.withLock { state in
      state.requests.append(request)
      return (state.routes.next(method, path), state.routes.descriptions)
    }
    let reply: Reply
    switch source {
    case .reply(let next): reply = next
    case .closure(let closure): reply = try await closure(request)
    case nil: throw UnexpectedRequest(request: "\(method) \(path)", routes: routes)
    }
    if reply.delay > .zero {
      let timeout = Duration(timeInterval: request.timeoutInterval)
      let isInTime = timeout.map { reply.delay <= $0 } ?? true
      try await clock.sleep(for: (isInTime ? reply.delay : timeout ?? reply.delay).sleepable)
      if !isInTime { throw URLError(.timedOut) }
    }
    guard let statusCode = reply.statusCode else { throw reply.failure ?? URLError(.unknown) }
    guard
      let response = HTTPURLResponse(
        url: url, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: reply.headers)
    else { throw URLError(.badServerResponse) }
    return (reply, response)
  }
}
