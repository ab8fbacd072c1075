import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Adds `traceparent` and `tracestate` (W3C Trace Context) to requests, so that what the server does appears in the
/// trace of what asked for it.
///
/// In ``NetworkManager/attemptMiddleware`` the context is asked for once for each attempt and each redirect, so each can be
/// a span of its own. Neither the ``HTTPCache`` nor what else is shared between requests minds that the fields differ.
public struct TracePropagator: NetworkMiddleware {
  private let includesOtherOrigins: Bool
  private let context: @Sendable () -> TraceContext?

  /// - Parameters:
  ///   - includesOtherOrigins: Whether the fields are also sent where a redirect has led to another origin than that of
  ///     the first request. Defaults to `false`: `tracestate` may say more than others should know.
  ///   - context: The context of the request that is about to be sent; `nil` for none. It runs in the caller's task, so
  ///     task-local values are there, and must return quickly.
  public init(includesOtherOrigins: Bool = false, context: @escaping @Sendable () -> TraceContext?) {
    self.includesOtherOrigins = includesOtherOrigins
    self.context = context
  }

  /// Sends the request on with the fields of its context, in the place of those that it has. Without a context it is sent
  /// as it is; to another origin without the fields, unless asked for.
  ///
  /// - Throws: What `next` throws.
  public func intercept(
    _ request: URLRequest, context hop: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    var request = request
    if hop.hasLeftOrigin, !includesOtherOrigins {
      request.setValue(nil, forHTTPHeaderField: "traceparent")
      request.setValue(nil, forHTTPHeaderField: "tracestate")
    } else if let context = context() {
      request.setValue(context.traceparent, forHTTPHeaderField: "traceparent")
      request.setValue(context.tracestate, forHTTPHeaderField: "tracestate")
    }
    return try await next(request)
  }
}
