import EKNetwork
import Tracing

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Creates a span for each attempt with the program's tracer, and propagates it to the server.
///
/// The span ends when the head of the response has arrived.
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
      // Baggage can contain data that another origin should not receive.
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
