import EKNetwork
import Foundation

// The compiler must say of each of these properties that it is not used, and of the last type what it lacks.

struct Ignored: NetworkRequest {
  typealias Response = EmptyResponse
  let path = "/"
  let method = HTTPMethod.post
  let headers = ["A": "b"]
  let queryParameters = ["a": "b"]
  var body: RequestBody { RequestBody(json: [:]) }
  var multipartData = MultipartFormData()
  var retryPolicy: RetryPolicy?
  var errorDecoder: (Data) -> Error? { { _ in nil } }
  let timeout: TimeInterval = 5
  let methodName: String? = "PROPFIND"
  let headerFields = ["A": "b"]
  let orderedQuery = [URLQueryItem(name: "a", value: "b")]
  let targetURL = URL(fileURLWithPath: "/")
  let credential = PasswordCredential(user: "ann", password: "b")
  let contentType: String? = "text/plain"
  let progress = NetworkProgress()
  let acceptedStatuses: Set<Int> = [200]
  let allowsRetry: Bool? = false
  let jsonDecoder: JSONDecoder? = JSONDecoder()
  let jsonEncoder: JSONEncoder? = JSONEncoder()
  let totalTimeout = Duration.seconds(5)
  let redirectPolicy: RedirectPolicy? = .reject
  let isIdempotent: Bool? = true
  let cacheMode: CacheMode? = .reload
  let maximumResponseSize: Int? = 1
  let maximumInflation = 1
}

struct WithoutResponse: NetworkRequest {
  let path = "/"
  let method = HTTPMethod.get
}
