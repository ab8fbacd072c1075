import Foundation

enum RequestBuilder {
  /// The default `Accept` of a request, and the type of its body. Nothing else is accepted: some servers take a list that ends
  /// in `*/*` for that of a browser, and send a page.
  static let json = "application/json"
  static let anything = "*/*"

  /// Reads the request once and builds it for any transport.
  ///
  /// - Parameters:
  ///   - accept: The media types to accept, if the request has no `Accept` of its own; `nil` if its session has one.
  ///   - defaultHeaders: The client's own header fields, which are meant for its base URL.
  /// - Throws: ``NetworkError/invalidURL``, ``NetworkError/conflictingBodyTypes``,
  ///   ``NetworkError/invalidMultipartEncoding``, ``InvalidHeaderError``, or the error of encoding the body.
  static func build<T: NetworkRequest>(
    _ request: T, baseURL: URL, accessToken: String?, userAgent: String?, accept: String? = json,
    defaultHeaders: HeaderFieldList? = nil
  ) throws -> HTTPRequest {
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
    if payload.body != nil, payload.length != 0, method != "HEAD", request.expectsContinue { headers.expectContinue() }

    var built = HTTPRequest(method: method, url: url, fields: headers.list, body: payload.body)
    if let timeout = request.timeout { built.setOwnTimeout(timeout.timeoutInterval) }
    return built
  }

  /// Whether a request with this ``NetworkRequest/targetURL`` goes to another origin than that of the base URL, for which the
  /// token and the credentials of the session are meant.
  static func leavesOrigin(_ target: URL?, baseURL: @autoclosure () -> URL) -> Bool {
    target.map { Origin($0) != Origin(baseURL()) } ?? false
  }
}

/// The body of a request as it is sent, whatever it was made from.
struct RequestPayload {
  /// `nil` for a request without a body, which is not the same as an empty one.
  let body: HTTPRequest.Body?
  /// The media type, unless the request's own header fields specify one.
  let contentType: String

  init<T: NetworkRequest>(of request: T) throws {
    switch (request.body, request.multipartData) {
    case (nil, nil):
      body = nil
      // The default was not chosen by the request, and servers reject JSON of no bytes. Any other value was chosen and
      // is kept.
      contentType = request.contentType == RequestBuilder.json ? "" : request.contentType
    case (let given?, nil):
      var type = given.contentType
      switch given.content {
      case .encodable(let value):
        body = .data(try request.jsonEncoder.encode(value))
        // The initializer's default was not chosen by the caller, so the request's own property decides.
        if type == RequestBuilder.json { type = request.contentType }
      case .raw(let data): body = .data(data)
      case .formURLEncoded(let pairs): body = .data(FormURLEncoding.encode(pairs))
      case .stream(let stream): body = .stream(try given.measured().map { BodyInputStream($0) } ?? stream)
      }
      contentType = type
    case (nil, let form?):
      // One buffer without files; with files it is never assembled.
      body = try form.encodedData().map { .data($0) } ?? .stream(BodyInputStream(.segments(form.segments())))
      contentType = "multipart/form-data; boundary=\(form.boundary)"
    case (.some, .some):
      throw NetworkError.conflictingBodyTypes
    }
  }

  var length: Int64? {
    switch body {
    case .data(let data)?: Int64(data.count)
    case .stream(let stream)?: (stream as? BodyInputStream)?.source.length
    case nil: nil
    }
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

  /// Sets the options that differ. One that a request sets overrides that of its session, even if it is the default of a
  /// new request: a session that must not use an expensive network would use it.
  func apply(to request: inout URLRequest) {
    func set<Value: Equatable>(_ option: WritableKeyPath<URLRequest, Value>, _ value: Value?) {
      if let value, request[keyPath: option] != value { request[keyPath: option] = value }
    }
    set(\.cachePolicy, URLRequest.CachePolicy(rawValue: cachePolicy))
    set(\.networkServiceType, URLRequest.NetworkServiceType(rawValue: networkServiceType))
    set(\.allowsCellularAccess, allowsCellularAccess)
    #if canImport(Darwin)
      set(\.allowsExpensiveNetworkAccess, allowsExpensiveNetworkAccess)
      set(\.allowsConstrainedNetworkAccess, allowsConstrainedNetworkAccess)
    #endif
  }
}
