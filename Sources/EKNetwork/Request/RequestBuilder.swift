import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The one path from a ``NetworkRequest`` to a `URLRequest`.
enum RequestBuilder {
  /// Reads the request once and makes the `URLRequest` that every transport is given.
  ///
  /// Without a `timeout` of the request, `timeoutInterval` keeps the value that `URLRequest` starts with.
  ///
  /// - Throws: ``NetworkError/invalidURL``, ``NetworkError/conflictingBodyTypes``,
  ///   ``NetworkError/invalidMultipartEncoding``, ``InvalidHeaderError``, or what encoding the body throws.
  static func build<T: NetworkRequest>(
    _ request: T, baseURL: URL, accessToken: String?, userAgent: String?
  ) throws -> URLRequest {
    let url = try RequestURL.make(
      base: baseURL, path: request.path, pathIsPercentEncoded: request.pathIsPercentEncoded,
      queryParameters: request.queryParameters)
    let payload = try RequestPayload(of: request)

    var headers = try HeaderFields(request.headers)
    try headers.setBearerToken(accessToken)
    try headers.setDefaults(userAgent: userAgent)
    try headers.describe(payload)
    if payload.exists, request.expectsContinue { headers.expectContinue() }

    var urlRequest = URLRequest(url: url)
    // A new `URLRequest` is a GET already, and the setter costs a quarter of all that is done here.
    let method = request.method
    if method != .get { urlRequest.httpMethod = method.rawValue }
    urlRequest.allHTTPHeaderFields = headers.fields
    payload.attach(to: &urlRequest)
    if let timeout = request.timeout { urlRequest.setOwnTimeout(timeout.timeoutInterval) }
    return urlRequest
  }
}
