import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The one path from a ``NetworkRequest`` to a `URLRequest`.
enum RequestBuilder {
  /// What a request asks for unless it says otherwise. Nothing beside it: some servers take a list that ends in `*/*` for
  /// that of a browser, and send a page.
  static let json = "application/json"
  /// What a file may be.
  static let anything = "*/*"

  /// Reads the request once and makes the `URLRequest` that every transport is given.
  ///
  /// Without a `timeout` of the request, `timeoutInterval` keeps the value that `URLRequest` starts with.
  ///
  /// - Parameter accept: The media types to ask for, where the request has no `Accept` of its own; `nil`
  ///   where its session has one.
  /// - Throws: ``NetworkError/invalidURL``, ``NetworkError/conflictingBodyTypes``,
  ///   ``NetworkError/invalidMultipartEncoding``, ``InvalidHeaderError``, or what encoding the body throws.
  static func build<T: NetworkRequest>(
    _ request: T, baseURL: URL, accessToken: String?, userAgent: String?, accept: String? = json
  ) throws -> URLRequest {
    let url = try RequestURL.make(
      base: baseURL, path: request.path, pathIsPercentEncoded: request.pathIsPercentEncoded,
      queryParameters: request.queryParameters)
    let payload = try RequestPayload(of: request)

    var headers = try HeaderFields(request.headers)
    try headers.setBearerToken(accessToken)
    try headers.setDefaults(accept: accept, userAgent: userAgent)
    try headers.describe(payload)
    if payload.exists, request.expectsContinue { headers.expectContinue() }

    var urlRequest = URLRequest(url: url)
    // A new `URLRequest` is a GET already, and the setter costs a quarter of all that is done here.
    let method = request.methodName
    if method != "GET" { urlRequest.httpMethod = method }
    urlRequest.allHTTPHeaderFields = headers.fields
    payload.attach(to: &urlRequest)
    if let timeout = request.timeout { urlRequest.setOwnTimeout(timeout.timeoutInterval) }
    return urlRequest
  }
}
