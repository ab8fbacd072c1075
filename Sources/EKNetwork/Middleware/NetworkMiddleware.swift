import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Code around requests: it sees each request on its way out and each response on its way back, and may change both,
/// send the request several times, or respond without the network.
///
/// The same type serves two places. In ``NetworkManager/middleware`` it stands around a whole call: retries, token
/// refreshes and redirects happen inside `next`, which returns a response with a status of success, or throws what the
/// call would throw. In ``NetworkManager/attemptMiddleware`` it stands around each single request, so it is run again for
/// every retry and every redirect, and sees every status. Several are run in their order, the first outermost.
///
/// WebSockets have none.
public protocol NetworkMiddleware: Sendable {
  /// Sends a request on, or responds to it.
  ///
  /// It runs off the caller's actor, in the caller's task: cancelling that task cancels whatever is awaited here.
  ///
  /// - Parameters:
  ///   - request: The request as it stands: for a call as its first attempt is built; for an attempt as it is sent, with
  ///     the session's fields and cookies.
  ///   - context: What else is known of it.
  ///   - next: Sends a request on. It may be called never, once, or several times one after the other. A body that is
  ///     a stream can be sent once; the second time throws ``RequestBodyError/alreadySent``.
  /// - Returns: The response, of `next` or of its own.
  /// - Throws: What the caller is to get; for an attempt it is an error like the network's, which the retry policy sees.
  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse
}

/// What is known of a request beside what it says itself.
public struct NetworkMiddlewareContext: Sendable, Equatable {
  /// Whether a redirect has led to the request; always `false` for a call.
  public var isRedirected: Bool
  /// Whether a redirect has led to another origin than that of the first request. Credentials that are meant for the
  /// first origin must not be added then; the library has taken off its own.
  public var hasLeftOrigin: Bool

  /// A context as the library would make it, for tests.
  public init(isRedirected: Bool = false, hasLeftOrigin: Bool = false) {
    self.isRedirected = isRedirected
    self.hasLeftOrigin = hasLeftOrigin
  }
}

/// What sends a request on from middleware: `try await next(request)`.
public struct NetworkMiddlewareNext: Sendable {
  private let work: @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse

  /// One that does something else, for tests of middleware.
  public init(_ work: @escaping @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse) { self.work = work }

  /// Sends a request on, and returns its response as soon as the head is there; around a whole `send` or `download`,
  /// when all of it is there.
  ///
  /// - Throws: What keeps the request from having a response; around a call what the call would throw.
  ///   `CancellationError` when the task is cancelled.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkMiddlewareResponse {
    try await work(request)
  }
}

/// What middleware did that cannot be done.
public enum NetworkMiddlewareError: Error, Equatable, Sendable {
  /// An attempt's request was sent elsewhere: its scheme, host, port and path are those that its fields are meant for.
  /// Around a call they may be changed.
  case changedDestination
  /// Around a call, `next` was called while it was still at work, or after the call had ended.
  case overlappingCalls
  /// A response of the middleware's own has a status or header fields that no response can have, or middleware has read a
  /// part of a response's body and returned the rest.
  case invalidResponse
}

extension NetworkMiddlewareError: LocalizedError {
  /// What happened, in a sentence.
  public var errorDescription: String? {
    switch self {
    case .changedDestination: "Middleware around attempts has sent a request elsewhere"
    case .overlappingCalls: "Middleware has sent a request on while it was at work, or after its end"
    case .invalidResponse: "Middleware has made a response that no response can be, or has read a part of its body"
    }
  }
}

/// Middleware that reads the timings of the connection, which are measured only on request.
protocol TimedMiddleware: NetworkMiddleware {}
