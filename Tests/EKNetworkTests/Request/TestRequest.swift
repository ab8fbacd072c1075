import EKNetwork

/// A request with settable properties.
struct TestRequest: NetworkRequest {
  typealias Response = EmptyResponse

  var path = "/items"
  var method: HTTPMethod = .get
  var headers: [String: String]?
  var headerFields: HeaderFieldList?
  var queryParameters: [String: String]?
  var contentType = "application/json"
  var body: RequestBody?
  var multipartData: MultipartFormData?
  var timeout: Duration?
  var pathIsPercentEncoded = false
  var jsonEncoder = JSONEncoder()
}
