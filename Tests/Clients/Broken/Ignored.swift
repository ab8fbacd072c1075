import EKNetwork

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
}

struct WithoutResponse: NetworkRequest {
  let path = "/"
  let method = HTTPMethod.get
}
