import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session for tests, which replies as they say and asks no network.
///
/// ```swift
/// let session = StubSession()
/// session.on(.get, "/users/42", .json(#"{"id":42,"name":"Alice"}"#))
/// session.on(.post, "/users", .status(503), .json(#"{"id":43,"name":"Bob"}"#, status: 201))
/// let manager = NetworkManager(baseURL: url, session: session)
/// ```
///
/// Each has its own routes, so that tests can run at the same time. Streams are replied to as well, in pieces. A reply
/// that is later than the request's `timeoutInterval` is `URLError.timedOut`. What no route is for throws ``UnexpectedRequest``, which says what there was.
public final class StubSession: URLSessionProtocol, URLSessionStreamingProtocol, Sendable {
  /// A request that no route is for. It passes through ``NetworkManager`` as it is.
  public struct UnexpectedRequest: LocalizedError, Sendable, CustomStringConvertible {
    /// The method and the path.
    public let request: String
    /// What there are routes for, in the order in which they were added.
    public let routes: [String]

    /// The request and the routes, in one line.
    public var description: String {
      "No stub for \(request). " + (routes.isEmpty ? "There are none." : "There are: " + routes.joined(separator: ", "))
    }

    /// The same.
    public var errorDescription: String? { description }
  }

  private struct State {
    var routes = StubRoutes()
    var requests: [URLRequest] = []
  }

  private let state = Locked(State())
  private let clock: any Clock<Duration>

  /// A session without routes.
  ///
  /// - Parameter clock: What measures ``Reply/after(_:)``.
  public init(clock: any Clock<Duration> = ContinuousClock()) { self.clock = clock }

  /// Replies to requests with these, one after another; the last is given again from then on.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - path: The URL's path as it travels, percent-encoded, without the query; `*` stands for one segment. Of several
  ///     routes that match, the one that was added last counts.
  ///   - replies: Without any, the route is taken away.
  public func on(_ method: HTTPMethod, _ path: String, _ replies: Reply...) {
    state.withLock { $0.routes.set(method.rawValue, path, replies: replies) }
  }

  /// Replies to requests with what a closure makes of them.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - path: As for ``on(_:_:_:)``.
  ///   - reply: Called for each request, on any thread, several times at once if there are several requests. What it
  ///     throws fails the request.
  public func on(_ method: HTTPMethod, _ path: String, reply: @escaping @Sendable (URLRequest) async throws -> Reply) {
    state.withLock { $0.routes.set(method.rawValue, path, closure: reply) }
  }

  /// What was asked for so far, in order, unexpected requests included.
  public var requests: [URLRequest] { state.withLock { $0.requests } }

  /// Replies to a request with the whole body. Throws what the reply says, ``UnexpectedRequest``, or `CancellationError`
  /// when the task is cancelled.
  public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    let (reply, response) = try await reply(to: request)
    if let failure = reply.failure { throw failure }
    return (reply.pieces.reduce(into: Data()) { $0 += $1 }, response)
  }

  /// Replies to a request with the pieces of the body. Throws as ``data(for:)`` does; a failure that comes after the
  /// response's head is the stream's.
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
