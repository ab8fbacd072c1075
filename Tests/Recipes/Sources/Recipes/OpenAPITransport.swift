import EKNetwork
import HTTPTypes
import OpenAPIRuntime

/// Sends the requests of clients that swift-openapi-generator makes.
struct OpenAPITransport: ClientTransport {
  private let manager: NetworkManager

  /// - Parameter manager: Whose base URL is that of the client's server, the only one to receive the session's credentials.
  init(manager: NetworkManager) { self.manager = manager }

  func send(
    _ request: HTTPRequest, body: HTTPBody?, baseURL: URL, operationID: String
  ) async throws -> (HTTPResponse, HTTPBody?) {
    let response = try await manager.stream(Operation(request, body, baseURL))
    var fields = HTTPFields()
    for field in response.headerFields {
      if let name = HTTPField.Name(field.name) { fields.append(HTTPField(name: name, value: field.value)) }
    }
    let head = HTTPResponse(status: .init(code: response.statusCode), headerFields: fields)
    // The length is that of the body as it was sent, before its coding was removed.
    let length = fields[.contentEncoding] == nil ? fields[.contentLength].flatMap { Int64($0) } : nil
    return (
      head,
      HTTPBody(
        response.body.map { ArraySlice($0) }, length: length.map { .known($0) } ?? .unknown, iterationBehavior: .single)
    )
  }

  private struct Operation: NetworkRequest {
    typealias Response = EmptyResponse
    let path = ""
    let targetURL: URL?
    let method: HTTPMethod
    let methodName: String
    let headerFields: HeaderFieldList?
    let body: RequestBody?
    // The generated code knows what each status means.
    let acceptedStatuses = StatusCodes.any

    init(_ request: HTTPRequest, _ body: HTTPBody?, _ base: URL) throws {
      let base = base.absoluteString
      guard let url = URL(string: (base.hasSuffix("/") ? String(base.dropLast()) : base) + (request.path ?? "")) else {
        throw NetworkError.invalidURL
      }
      targetURL = url
      methodName = request.method.rawValue
      method = HTTPMethod(rawValue: methodName) ?? .post
      let fields = request.headerFields.filter { $0.name != .contentLength }
      headerFields = HeaderFieldList(fields.map { ($0.name.rawName, $0.value) })
      self.body = body.map { body in
        let type = request.headerFields[.contentType] ?? ""
        let length: Int64? = if case .known(let length) = body.length { length } else { nil }
        guard body.iterationBehavior == .multiple else {
          return RequestBody(sequence: body.map { Data($0) }, contentType: type, length: length)
        }
        return RequestBody(contentType: type, length: length) { body.map { Data($0) } }
      }
    }
  }
}
