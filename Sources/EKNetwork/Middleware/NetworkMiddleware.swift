import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Code that wraps requests: it intercepts each request and each response, and may change both, send the request
/// several times, or respond without the network.
///
/// The same type is used in two places. In ``NetworkManager/middleware`` it wraps a whole call: retries, token
/// refreshes and redirects happen inside `next`, which returns a successful response or throws the error of the call.
/// In ``NetworkManager/attemptMiddleware`` it wraps each single request, so it runs again for every retry and every
/// redirect, and receives every status. Several run in order, the first outermost.
///
/// It is not used for WebSockets.
public protocol NetworkMiddleware: Sendable {
  /// Passes a request on, or responds to it.
  ///
  /// It runs off the caller's actor, in a task that belongs to the call: cancelling the caller's task cancels whatever is
  /// awaited here. A middleware that ignores that is left behind after a tenth of a second.
  ///
  /// - Parameters:
  ///   - request: The request: for a call, as built for its first attempt; for an attempt, as sent, with the session's
  ///     header fields and cookies.
  ///   - context: Information about the request that is not part of it.
  ///   - next: Passes a request on. It may be called not at all, once, or several times one after another. A streamed
  ///     body can be sent once; the second time throws ``RequestBodyError/alreadySent``.
  /// - Returns: The response of `next`, or one of its own.
  /// - Throws: The error for the caller; for an attempt it is treated like a network error, which the retry policy
  ///   receives.
  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse
}

/// Information about a request that is not part of the request itself.
public struct NetworkMiddlewareContext: Sendable, Equatable {
  /// Whether the request follows a redirect; always `false` for a call.
  public var isRedirected: Bool
  /// Whether the request has left the origin of the caller's request: by a redirect, or because middleware around the
  /// call has changed its URL. It stays `true` if a redirect returns to that origin. Do not add credentials for that
  /// origin then; the library has removed its own.
  public var hasLeftOrigin: Bool

  /// Creates a context as the library passes it, for tests.
  public init(isRedirected: Bool = false, hasLeftOrigin: Bool = false) {
    self.isRedirected = isRedirected
    self.hasLeftOrigin = hasLeftOrigin
  }
}

/// The next step after a middleware, called as `try await next(request)`.
public struct NetworkMiddlewareNext: Sendable {
  private let work: @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse

  /// Creates a step with custom behaviour, for tests of middleware.
  public init(_ work: @escaping @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse) { self.work = work }

  /// Passes a request on, and returns its response as soon as the head has arrived; around a whole `send` or
  /// `download`, when the complete response has arrived.
  ///
  /// - Throws: The error because of which there is no response; around a call, the error of the call.
  ///   `CancellationError` when the task is cancelled.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkMiddlewareResponse {
    try await work(request)
  }
}

/// An error for incorrect behaviour of middleware.
public enum NetworkMiddlewareError: Error, Equatable, Sendable {
  /// Middleware around attempts changed the scheme, host, port or path of a request, whose header fields are meant for
  /// the original destination. Around a call they may be changed.
  case changedDestination
  /// Around a call, `next` was called while an earlier call of it was under way, or after the call had ended.
  case overlappingCalls
  /// A response created by middleware has an invalid status or invalid header fields, or middleware has returned a
  /// response whose body it has read, in part or to its end, or has returned before.
  case invalidResponse
}

extension NetworkMiddlewareError: LocalizedError {
  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .changedDestination: "Attempt middleware changed the scheme, host, port or path of a request"
    case .overlappingCalls:
      "Middleware called `next` while an earlier call was in progress, or after the call had ended"
    case .invalidResponse:
      "Middleware returned a response with an invalid status or header field, or with a body that was already read"
    }
  }
}

/// Middleware that reads the timings of the connection, which are measured only on request.
protocol TimedMiddleware: NetworkMiddleware {}
