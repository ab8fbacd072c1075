import Foundation

/// An HTTP/1.1 server in this process, on 127.0.0.1 and a free port, that can also misbehave in every way that a client
/// must handle.
///
/// Every connection is served by a thread of its own, so a handler may block. A handler that captures the server keeps
/// it alive until ``stop()``; deallocating the server also stops it.
public final class LoopbackServer: Sendable {
  /// A closure that responds to a request. It runs on the connection's thread; an error that it throws becomes a 500.
  public typealias Handler = @Sendable (Request) throws -> Response
  /// A closure that decides what to do when a head has been received and its body has not.
  public typealias HeadHandler = @Sendable (Request) -> HeadDecision

  private let core: ServerCore

  /// Creates a server that listens at once. Throws ``SocketError`` if the system has no socket or thread left.
  public init(options: Options = Options()) throws {
    core = try ServerCore(options: options)
  }

  /// Creates a server with options that the closure changes: `LoopbackServer { $0.maximumBodySize = 10 }`.
  public convenience init(_ change: (inout Options) -> Void) throws {
    var options = Options()
    change(&options)
    try self.init(options: options)
  }

  deinit { core.stop() }

  /// The port on which the server listens.
  public var port: Int { core.listener.port }

  /// `http://127.0.0.1:PORT`, without a path.
  public var baseURL: URL {
    var components = URLComponents()
    components.scheme = "http"
    components.host = "127.0.0.1"
    components.port = port
    return components.url ?? URL(fileURLWithPath: "/")
  }

  /// Returns the URL of a path (and query) on this server, which must be percent-encoded already.
  public func url(_ path: String) -> URL {
    URL(string: "http://127.0.0.1:\(port)\(path)") ?? baseURL
  }

  // MARK: Routes

  /// Adds a handler of requests for a path, or for everything below it if it ends in `/*`. A route added later takes
  /// precedence.
  ///
  /// `onHead` is called when the head has been received and the body has not; without it the body is read at once.
  public func route(
    _ method: String, _ path: String, onHead: HeadHandler? = nil, _ handler: @escaping Handler
  ) {
    core.router.withLock {
      $0.add(Router.Route(method: method, path: path, onHead: onHead, handler: handler))
    }
  }

  /// Adds a handler of requests of any method for a path, or for everything below it if it ends in `/*`.
  public func route(_ path: String, onHead: HeadHandler? = nil, _ handler: @escaping Handler) {
    core.router.withLock {
      $0.add(Router.Route(method: nil, path: path, onHead: onHead, handler: handler))
    }
  }

  /// Sets the responses to requests of any method for a path, which are sent one after the other; the last one is
  /// repeated.
  public func route(_ path: String, _ responses: Response...) {
    route(path, Self.inTurn(responses))
  }

  /// Sets the responses to requests of one method for a path, which are sent one after the other; the last one is
  /// repeated.
  public func route(_ method: String, _ path: String, _ responses: Response...) {
    route(method, path, Self.inTurn(responses))
  }

  private static func inTurn(_ responses: [Response]) -> Handler {
    let next = Monitor(0)
    return { _ in
      let index = next.withLock { index in
        defer { index += 1 }
        return index
      }
      return responses.isEmpty ? .status(404) : responses[min(index, responses.count - 1)]
    }
  }

  /// The handler of requests without a route; by default it responds with 404.
  public var fallback: Handler {
    get { core.router.withLock { $0.fallback } }
    set { core.router.withLock { $0.fallback = newValue } }
  }

  // MARK: What was received

  /// The requests received, in order; up to ``Options/recordLimit`` of them. A request is recorded when its body has
  /// been read, before its handler is called; if the client disconnects before the end; or before an early response.
  public var requests: [Request] { core.records.withLock { $0.requests } }

  /// The number of requests received, including those beyond the limit.
  public var requestCount: Int { core.records.withLock { $0.count } }

  /// Returns the requests received for a path, which is compared as it was sent, percent-encoded.
  public func requests(path: String) -> [Request] { core.records.withLock { $0.requests(path: path) } }

  /// Suspends until `count` requests have been received, for that path or in all. Returns those received, which are
  /// fewer if the timeout expired or the task was cancelled.
  public func waitForRequests(
    count: Int, path: String? = nil, timeout: Duration = .seconds(600)
  ) async -> [Request] {
    _ = await core.records.wait(timeout: timeout) { $0.count(path: path) >= count }
    return core.records.withLock { $0.requests(path: path) }
  }

  /// Clears the record of requests.
  public func reset() { core.records.withLock { $0.clear() } }

  // MARK: Connections

  /// The number of connections open at this end.
  public var openConnections: Int { core.connections.open }

  /// The number of connections accepted since the start.
  public var acceptedConnections: Int { core.connections.accepted }

  /// The maximum number of connections that were open at the same time, at both ends.
  public var peakConnections: Int { core.connections.peak }

  /// The number of bytes passed to the system for sending, on all connections.
  public var bytesSent: Int { core.bytesSent.count }

  /// Suspends until exactly `count` connections are open. Returns whether they are: false if the timeout expired or the
  /// task was cancelled.
  public func waitForOpenConnections(_ count: Int, timeout: Duration = .seconds(600)) async -> Bool {
    await core.connections.waitForOpen(count, timeout: timeout)
  }

  /// Suspends until at least `count` connections have been accepted since the start. Returns whether they have.
  public func waitForAcceptedConnections(_ count: Int, timeout: Duration = .seconds(600)) async -> Bool {
    await core.connections.waitForAccepted(count, timeout: timeout)
  }

  /// Closes every connection, idle or not, and continues to listen.
  public func closeConnections() { core.connections.dropAll() }

  /// Stops listening, closes every connection and waits for its thread. A handler that blocks on something other than a
  /// ``Gate`` is waited for at most 20 seconds. Calling it again does nothing.
  public func stop() { core.stop() }
}
