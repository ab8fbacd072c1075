import Foundation

/// Builds the `URLRequest` of a ``NetworkRequest``.
enum RequestBuilder {
  /// The default `Accept` of a request. Nothing else is listed: some servers take a list that ends in `*/*` for that of
  /// a browser, and send a page.
  static let json = "application/json"
  /// The `Accept` of a download.
  static let anything = "*/*"

  /// Reads the request once and builds the `URLRequest` for any transport.
  ///
  /// Without a `timeout` of the request, `timeoutInterval` keeps its initial value.
  ///
  /// - Parameters:
  ///   - accept: The media types to accept, if the request has no `Accept` of its own; `nil` if its session has one.
  ///   - defaultHeaders: The client's own header fields, which are meant for its base URL.
  /// - Throws: ``NetworkError/invalidURL``, ``NetworkError/conflictingBodyTypes``,
  ///   ``NetworkError/invalidMultipartEncoding``, ``InvalidHeaderError``, or the error of encoding the body.
  static func build<T: NetworkRequest>(
    _ request: T, baseURL: URL, accessToken: String?, userAgent: String?, accept: String? = json,
    defaultHeaders: HeaderFieldList? = nil
  ) throws -> URLRequest {
    let target = request.targetURL
    // Whole URLs often come from servers, and those must not choose a socket of this machine.
    if let target, target.socketPath != nil, leavesOrigin(target, baseURL: baseURL) { throw NetworkError.invalidURL }
    let url = try RequestURL.make(
      base: target ?? baseURL, path: target == nil ? request.path : "",
      pathIsPercentEncoded: request.pathIsPercentEncoded, queryParameters: request.queryParameters,
      orderedQuery: request.orderedQuery)
    let payload = try RequestPayload(of: request)

    var headers = try HeaderFields(request.headers, request.headerFields)
    if !leavesOrigin(target, baseURL: baseURL) {
      try headers.setBearerToken(accessToken)
      if let defaultHeaders { try headers.add(defaultHeaders) }
    }
    try headers.setDefaults(accept: accept, userAgent: userAgent)
    try headers.describe(payload)
    let method = request.methodName
    // RFC 9110 §10.1.1: not in a request without content, and a HEAD is sent without it.
    if payload.exists, payload.length != 0, method != "HEAD", request.expectsContinue { headers.expectContinue() }

    var urlRequest = URLRequest(url: url)
    // A new `URLRequest` is already a GET, and the setter costs a quarter of this function's time.
    if method != "GET" { urlRequest.httpMethod = method }
    urlRequest.allHTTPHeaderFields = headers.fields
    payload.attach(to: &urlRequest)
    if let timeout = request.timeout { urlRequest.setOwnTimeout(timeout.timeoutInterval) }
    return urlRequest
  }

  /// Whether a request with this ``NetworkRequest/targetURL`` goes to another origin than that of the base URL, for which the
  /// token and the credentials of the session are meant.
  static func leavesOrigin(_ target: URL?, baseURL: @autoclosure () -> URL) -> Bool {
    target.map { Origin($0) != Origin(baseURL()) } ?? false
  }
}

/// The options of a `URLRequest` for how it is sent, except its timeout and cookies.
struct RequestOptions: Codable, Equatable, Sendable {
  private let cachePolicy: UInt
  private let networkServiceType: UInt
  private let allowsCellularAccess: Bool
  #if canImport(Darwin)
    private let allowsExpensiveNetworkAccess: Bool
    private let allowsConstrainedNetworkAccess: Bool
  #endif

  init(_ request: URLRequest) {
    cachePolicy = request.cachePolicy.rawValue
    networkServiceType = request.networkServiceType.rawValue
    allowsCellularAccess = request.allowsCellularAccess
    #if canImport(Darwin)
      allowsExpensiveNetworkAccess = request.allowsExpensiveNetworkAccess
      allowsConstrainedNetworkAccess = request.allowsConstrainedNetworkAccess
    #endif
  }

  func apply(to request: inout URLRequest) {
    if let policy = URLRequest.CachePolicy(rawValue: cachePolicy) { request.cachePolicy = policy }
    if let type = URLRequest.NetworkServiceType(rawValue: networkServiceType) { request.networkServiceType = type }
    request.allowsCellularAccess = allowsCellularAccess
    #if canImport(Darwin)
      request.allowsExpensiveNetworkAccess = allowsExpensiveNetworkAccess
      request.allowsConstrainedNetworkAccess = allowsConstrainedNetworkAccess
    #endif
  }
}
