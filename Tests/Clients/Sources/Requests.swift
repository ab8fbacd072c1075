import EKNetwork

// Code as in apps, compiled in every language mode that an app can use (see check.sh). Never run.

struct Profile: Codable {
  let name: String
}

struct GetProfile: NetworkRequest {
  typealias Response = Profile
  var path: String { "/me" }
  var method: HTTPMethod { .get }
}

struct UpdateProfile: NetworkRequest {
  struct Refusal: NonRetriableError, Decodable { let reason: String }
  struct Draft: Encodable { let name: String }

  typealias Response = StatusCodeResponse
  let name: String
  var progress: NetworkProgress?
  var path: String { "/me" }
  var method: HTTPMethod { .put }
  var headers: [String: String]? { ["If-Match": "*"] }
  var body: RequestBody? { RequestBody(encodable: Draft(name: name)) }
  var retryPolicy: RetryPolicy { .exponentialBackoff(shouldRetry: { $0 is URLError }) }
  var timeout: Duration? { .milliseconds(500) }
  var errorDecoder: ((Data) -> Error?)? {
    { try? JSONDecoder().decode(Refusal.self, from: $0) }
  }
  var emptyResponseHandler: ((HTTPURLResponse) throws -> StatusCodeResponse)? {
    { StatusCodeResponse(statusCode: $0.statusCode, headers: [:]) }
  }
}

struct DeleteProfile: NetworkRequest {
  typealias Response = EmptyResponse
  var path: String { "/me" }
  var method: HTTPMethod { .delete }
}

/// A response of the app's own that need not be used.
struct Receipt: DiscardableResponse {
  let id: Int
}

extension NetworkRequest where Self == Endpoint<Profile> {
  static func profile(_ id: Int) -> Self { Endpoint("profiles/\(id)") }
}

extension NetworkRequest where Self == Endpoint<Receipt> {
  static func order(_ name: String) -> Self {
    Endpoint(.post, "orders", body: RequestBody(json: ["name": .string(name), "rush": true]))
  }
}

/// A request that is a class and not Sendable.
final class ReferenceRequest: NetworkRequest {
  typealias Response = [Profile]
  var attempts = 0
  var path: String { "/all" }
  var method: HTTPMethod { .get }
}

/// A response that is a class and not Sendable.
final class Album: Decodable {
  var pictures: [String] = []
}

struct GetAlbum: NetworkRequest {
  typealias Response = Album
  var path: String { "/album" }
  var method: HTTPMethod { .get }
}

/// A request whose generic parameter is its response.
struct Fetch<Response: Decodable>: NetworkRequest {
  let path: String
  var method: HTTPMethod { .get }
}

/// A request with a generic response.
struct Plain<R: Decodable>: NetworkRequest {
  typealias Response = R
  let path: String
  var method: HTTPMethod { .get }
}

/// A request that creates its response itself.
struct GetText: NetworkRequest {
  typealias Response = String
  var path: String { "/text" }
  var method: HTTPMethod { .get }
  func decodeResponse(data: Data, response: URLResponse) throws -> String { String(decoding: data, as: UTF8.self) }
}

/// A request that any actor can send, even in a module isolated to the main actor by default.
nonisolated struct GetStatus: NetworkRequest {
  nonisolated struct Response: Decodable, Sendable { let isUp: Bool }
  var path: String { "/status" }
  var method: HTTPMethod { .get }
}
