import Foundation

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
  /// The error of a request without a route. It passes through ``NetworkManager`` unchanged, and the
  /// request is not retried.
  public struct UnexpectedRequest: LocalizedError, NonRetriableError, Sendable, CustomStringConvertible {
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
    state.withLock { $0.routes.set(method.rawValue, path, replies.map { reply in { _ in reply } }) }
  }

  /// Sets a closure that makes the replies to requests.
  ///
  /// - Parameters:
  ///   - method: The request's method.
  ///   - path: As for ``on(_:_:_:)``.
  ///   - reply: Called for each request, on any thread, and concurrently for concurrent requests. An error that it
  ///     throws fails the request.
  public func on(_ method: HTTPMethod, _ path: String, reply: @escaping @Sendable (URLRequest) async throws -> Reply) {
    state.withLock { $0.routes.set(method.rawValue, path, [reply]) }
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
    let path = StubRoutes.sent(URLComponents(url: url, resolvingAgainstBaseURL: true)?.percentEncodedPath ?? url.path)
    let (makeReply, routes) = state.withLock { state in
      state.requests.append(request)
      return (state.routes.next(method, path), state.routes.descriptions)
    }
    guard let makeReply else { throw UnexpectedRequest(request: "\(method) \(path)", routes: routes) }
    let reply = try await makeReply(request)
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

extension StubSession {
  /// A reply of a ``StubSession``.
  public struct Reply: Sendable {
    /// `nil` for a failure before any response.
    var statusCode: Int?
    var headers: [String: String] = [:]
    var pieces: [Data] = []
    var failure: (any Error)?
    var delay = Duration.zero

    /// Returns a response without a body.
    public static func status(_ statusCode: Int, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: statusCode, headers: headers)
    }

    /// Returns a response with a body.
    public static func data(_ body: Data, status: Int = 200, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: status, headers: headers, pieces: [body])
    }

    /// Returns a response with a JSON text, and `Content-Type: application/json` unless the headers contain another.
    public static func json(_ text: String, status: Int = 200, headers: [String: String] = [:]) -> Reply {
      let named = headers.keys.contains { $0.lowercased() == "content-type" }
      let headers = named ? headers : headers.merging(["Content-Type": "application/json"]) { $1 }
      return data(Data(text.utf8), status: status, headers: headers)
    }

    /// Returns a response whose body arrives in pieces, as a stream receives them.
    public static func pieces(_ pieces: [String], status: Int = 200, headers: [String: String] = [:]) -> Reply {
      Reply(statusCode: status, headers: headers, pieces: pieces.map { Data($0.utf8) })
    }

    /// Returns an error instead of a response, such as `URLError(.notConnectedToInternet)`.
    public static func failure(_ error: any Error) -> Reply { Reply(failure: error) }

    /// Returns the same reply, delayed. A task that is cancelled does not wait for it.
    public func after(_ delay: Duration) -> Reply {
      var reply = self
      reply.delay = delay
      return reply
    }

    /// Returns the same response, whose body fails after its last piece: a stream receives the pieces first.
    public func failing(with error: any Error) -> Reply {
      var reply = self
      reply.failure = error
      return reply
    }
  }
}

/// The routes of a stub session: the replies to each method and path.
struct StubRoutes {
  typealias MakeReply = @Sendable (URLRequest) async throws -> StubSession.Reply

  private struct Route {
    let method: String
    let path: String
    let segments: [Substring]
    var replies: ArraySlice<MakeReply>

    init(_ method: String, _ path: String, _ replies: [MakeReply]) {
      self.method = method
      self.path = StubRoutes.sent(path)
      self.replies = replies[...]
      segments = self.path.split(separator: "/", omittingEmptySubsequences: false)
    }

    func matches(_ method: String, _ path: [Substring]) -> Bool {
      method == self.method && path.count == segments.count
        && zip(segments, path).allSatisfy { $0 == "*" || $0 == $1 }
    }
  }

  private var routes: [Route] = []

  /// Returns a path as it is sent (RFC 9112 §3.2.1).
  static func sent(_ path: String) -> String { path.isEmpty ? "/" : path }

  var descriptions: [String] { routes.map { "\($0.method) \($0.path)" } }

  mutating func set(_ method: String, _ path: String, _ replies: [MakeReply]) {
    let route = Route(method, path, replies)
    routes.removeAll { $0.method == method && $0.path == route.path }
    if !replies.isEmpty { routes.append(route) }
  }

  /// Returns the next reply to a request; the last reply of a route is repeated.
  mutating func next(_ method: String, _ path: String) -> MakeReply? {
    let segments = path.split(separator: "/", omittingEmptySubsequences: false)
    guard let index = routes.lastIndex(where: { $0.matches(method, segments) }) else { return nil }
    let reply = routes[index].replies.first
    if routes[index].replies.count > 1 { routes[index].replies.removeFirst() }
    return reply
  }
}
