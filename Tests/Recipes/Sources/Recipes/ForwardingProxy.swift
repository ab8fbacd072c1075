import EKNetwork
import HTTPTypes
import Hummingbird

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Middleware that forwards every request to another server, and passes its responses on as they are.
struct ForwardingProxy: RouterMiddleware {
  typealias Context = BasicRequestContext

  private let upstream: URL
  private let manager: NetworkManager

  /// - Parameter upstream: The base URL of the other server.
  init(upstream: URL) {
    self.upstream = upstream
    let configuration = URLSessionConfiguration.ephemeral
    // The cookies of one client must not be sent for another.
    configuration.httpCookieStorage = nil
    configuration.httpMaximumConnectionsPerHost = 64
    manager = NetworkManager(baseURL: upstream, session: URLSession(configuration: configuration))
  }

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    let response: StreamingResponse
    do { response = try await manager.stream(Forwarded(request, to: upstream)) } catch is URLError {
      throw Hummingbird.HTTPError(.badGateway)
    }
    let hasBody = request.method != .head && response.statusCode != 204 && response.statusCode != 304
    return Response(
      status: HTTPResponse.Status(code: response.statusCode), headers: Self.fields(of: response.headerFields),
      body: hasBody
        ? ResponseBody { writer in
          for try await piece in response.body { try await writer.write(ByteBuffer(bytes: piece)) }
          try await writer.finish(response.trailers.isEmpty ? nil : Self.fields(of: response.trailers))
        } : ResponseBody())
  }

  /// Returns the URL of a request's target; `nil` if that is no path (RFC 9112 §3.2.1): `m://a` would make another host of
  /// `https://example.co`.
  static func url(of target: String, at upstream: URL) -> URL? {
    guard target.hasPrefix("/") else { return nil }
    let base = upstream.absoluteString
    return URL(string: (base.hasSuffix("/") ? String(base.dropLast()) : base) + target)
  }

  /// Repeated fields stay separate. Those of the connection are not those of the next one (RFC 9110 §7.6.1).
  private static func fields(of list: HeaderFieldList) -> HTTPFields {
    let own = namesOfConnection(list.values(for: "Connection"))
    var fields = HTTPFields()
    for field in list where !own.contains(field.name.lowercased()) {
      if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
    }
    return fields
  }

  /// Returns the names of the fields that are for one connection only, with those that its `Connection` fields name.
  private static func namesOfConnection(_ connection: [String]) -> Set<String> {
    let named = connection.joined(separator: ",").lowercased().split(separator: ",")
    let own: Set<String> = [
      "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
      "transfer-encoding", "upgrade",
    ]
    return own.union(named.map { $0.trimmingCharacters(in: .whitespaces) })
  }

  private struct Forwarded: NetworkRequest {
    typealias Response = EmptyResponse
    let targetURL: URL?
    let path = ""
    let method: HTTPMethod
    let methodName: String
    let headerFields: HeaderFieldList?
    let body: EKNetwork.RequestBody?
    // Whatever the other server says is for the client.
    let acceptedStatuses = StatusCodes.any
    let redirectPolicy = RedirectPolicy.reject
    let decodesContent = false

    init(_ request: Request, to upstream: URL) throws {
      guard let url = ForwardingProxy.url(of: request.uri.string, at: upstream) else {
        throw Hummingbird.HTTPError(.badRequest)
      }
      targetURL = url
      methodName = request.method.rawValue
      // A method that the library does not know is not repeated.
      method = HTTPMethod(rawValue: methodName) ?? .post

      let own = ForwardingProxy.namesOfConnection(request.headers[values: .connection])
        .union(["content-length", "expect"])
      var fields: [(name: String, value: String)] = request.headers.compactMap { field in
        let isOwn = own.contains(field.name.canonicalName)
        return isOwn ? nil : (field.name.rawName, field.value)
      }
      // What the client has not said must not be said in its name.
      if request.headers[.accept] == nil { fields.append(("Accept", "*/*")) }
      if request.headers[.acceptEncoding] == nil { fields.append(("Accept-Encoding", "identity")) }
      fields.append(("Via", "1.1 proxy"))
      headerFields = HeaderFieldList(fields)

      let length = request.headers[.contentLength].flatMap { Int64($0) }
      let hasBody = length.map { $0 > 0 } ?? (request.headers[.transferEncoding] != nil)
      // No faster than the other server takes it.
      body =
        hasBody
        ? EKNetwork.RequestBody(
          sequence: request.body.map { Data($0.readableBytesView) }, contentType: request.headers[.contentType] ?? "",
          length: length) : nil
    }
  }
}
