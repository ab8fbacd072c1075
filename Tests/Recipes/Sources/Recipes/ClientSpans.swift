import EKNetwork
import Tracing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Makes each attempt a span of the tracer that the program was set up with, and tells the server of it.
///
/// The span ends when the head of the response is there.
struct ClientSpans: NetworkMiddleware {
  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    let method = request.httpMethod ?? "GET"
    return try await withSpan(method, ofKind: .client) { span in
      span.attributes["http.request.method"] = method
      span.attributes["server.address"] = request.url?.host
      span.attributes["server.port"] = request.url?.port
      var request = request
      // Baggage may say more than another origin should know.
      if !context.hasLeftOrigin {
        InstrumentationSystem.instrument.inject(span.context, into: &request, using: FieldInjector())
      }
      let response = try await next(request)
      span.attributes["http.response.status_code"] = response.statusCode
      if response.statusCode >= 400 { span.setStatus(SpanStatus(code: .error)) }
      return response
    }
  }

  private struct FieldInjector: Injector {
    func inject(_ value: String, forKey name: String, into request: inout URLRequest) {
      request.setValue(value, forHTTPHeaderField: name)
    }
  }
}
