import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Middleware that adds `traceparent` and `tracestate` (W3C Trace Context) to requests, so that the work of the server
/// appears in the trace of the client.
///
/// In ``NetworkManager/attemptMiddleware`` the context is requested once for each attempt and each redirect, so that
/// each can be its own span. The ``HTTPCache``, and whatever else is shared between requests, ignores differences in
/// these fields.
public struct TracePropagator: NetworkMiddleware {
  private let includesOtherOrigins: Bool
  private let context: @Sendable () -> TraceContext?

  /// - Parameters:
  ///   - includesOtherOrigins: Whether the fields are also sent after a redirect to an origin other than that of the
  ///     first request. Defaults to `false`: `tracestate` may contain more than others should know.
  ///   - context: Returns the context of the request that is about to be sent; `nil` for none. It runs with the
  ///     task-local values of the caller, and must return quickly.
  public init(includesOtherOrigins: Bool = false, context: @escaping @Sendable () -> TraceContext?) {
    self.includesOtherOrigins = includesOtherOrigins
    self.context = context
  }

  /// Passes the request on with the fields of its context, which replace existing ones. Without a context it is
  /// unchanged; to another origin it is sent without the fields, unless they are included.
  ///
  /// - Throws: The error of `next`.
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
