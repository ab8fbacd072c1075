import EKNetwork
import HTTPTypes
import Hummingbird

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A server that forwards requests for users to another one, as part of the caller's trace.
nonisolated struct UserProxy {
  let manager: NetworkManager

  struct User: Codable, Sendable, ResponseEncodable {
    let id: Int
    let name: String
  }

  struct GetUser: NetworkRequest {
    typealias Response = User
    let id: Int
    var path: String { "/users/\(id)" }
    var method: HTTPMethod { .get }
  }

  struct GetPhoto: NetworkRequest {
    typealias Response = EmptyResponse
    let id: Int
    var path: String { "/users/\(id)/photo" }
    var method: HTTPMethod { .get }
  }

  /// - Parameter upstream: The base URL of the server that has the users.
  init(upstream: URL) {
    let configuration = URLSessionConfiguration.ephemeral
    // The cookies of one user must not be sent for another.
    configuration.httpCookieStorage = nil
    manager = NetworkManager(baseURL: upstream, session: URLSession(configuration: configuration))
    manager.attemptMiddleware = [
      TracePropagator { TraceMiddleware.current?.child() },
      RateLimiter(maximumWait: .seconds(2)),
      CircuitBreaker(),
    ]
  }

  func router() -> Router<BasicRequestContext> {
    let router = Router()
    router.add(middleware: TraceMiddleware())
    router.get("users/:id") { [manager] _, context in
      let id = try context.parameters.require("id", as: Int.self)
      return try await Self.translatingErrors { try await manager.send(GetUser(id: id)) }
    }
    // Chunk by chunk: a photo of any size takes no more memory than one chunk.
    router.get("users/:id/photo") { [manager] _, context in
      let id = try context.parameters.require("id", as: Int.self)
      let photo = try await Self.translatingErrors { try await manager.stream(GetPhoto(id: id)) }
      var headers = HTTPFields()
      headers[.contentType] = photo.headers["Content-Type"]
      return Response(
        status: .ok, headers: headers,
        body: ResponseBody { writer in
          for try await piece in photo.body { try await writer.write(ByteBuffer(bytes: piece)) }
          try await writer.finish(nil)
        })
    }
    return router
  }

  /// Translates upstream errors into the proxy's own, without passing their details to the client.
  private static func translatingErrors<Value>(_ work: () async throws -> Value) async throws -> Value {
    do { return try await work() } catch let error as EKNetwork.HTTPError where error.statusCode == 404 {
      throw Hummingbird.HTTPError(.notFound)
    } catch is CircuitBreaker.OpenError {
      throw Hummingbird.HTTPError(.serviceUnavailable)
    } catch is RateLimiter.LimitError {
      throw Hummingbird.HTTPError(.serviceUnavailable)
    } catch is URLError {
      throw Hummingbird.HTTPError(.badGateway)
    }
  }
}

/// Reads the trace context of each request, and starts a trace if there is none.
struct TraceMiddleware: RouterMiddleware {
  typealias Context = BasicRequestContext

  @TaskLocal static var current: TraceContext?

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let field = { (name: String) in HTTPField.Name(name).flatMap { request.headers[$0] } }
    let incoming = field("traceparent").flatMap { TraceContext(traceparent: $0, tracestate: field("tracestate")) }
    return try await Self.$current.withValue(incoming?.child() ?? TraceContext()) {
      try await next(request, context)
    }
  }
}
