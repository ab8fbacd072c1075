import Foundation

/// A request as the library passes it on, from where it is built to the wire: a method, a URL, header fields in order, each name
/// once, and a body.
///
/// A `URLRequest` is what others give and get: middleware, sessions, mocks and queues. There one is made of the other.
struct HTTPRequest: Sendable {
  enum Body {
    case data(Data)
    case stream(InputStream)
  }

  /// In a class: every frame on the way to the transport holds requests.
  ///
  /// Sendable, unchecked: it is changed only by a request that alone refers to it. A stream is passed on to its only reader, which
  /// opens it.
  private final class Storage: @unchecked Sendable {
    var method: String
    var url: URL
    var fields: HeaderFieldList
    var body: Body?
    var timeoutInterval: TimeInterval
    var bypassesSystemCache = false
    /// What this request was made of, if it was not built by the library: it has more properties.
    let original: URLRequest?
    /// Whether nothing was changed since.
    let isOriginal: Bool

    init(
      method: String, url: URL, fields: HeaderFieldList, body: Body?, timeoutInterval: TimeInterval,
      original: URLRequest? = nil, isOriginal: Bool = false
    ) {
      self.method = method
      self.url = url
      self.fields = fields
      self.body = body
      self.timeoutInterval = timeoutInterval
      self.original = original
      self.isOriginal = isOriginal
    }

    convenience init(changing other: Storage) {
      self.init(
        method: other.method, url: other.url, fields: other.fields, body: other.body,
        timeoutInterval: other.timeoutInterval, original: other.original)
      bypassesSystemCache = other.bypassesSystemCache
    }
  }

  static let idempotencyKey = "idempotency-key"

  /// The `timeoutInterval` of a request without one of its own.
  private static let unsetTimeout: TimeInterval = 60

  private var storage: Storage

  init(method: String = "GET", url: URL, fields: HeaderFieldList = HeaderFieldList(), body: Body? = nil) {
    storage = Storage(method: method, url: url, fields: fields, body: body, timeoutInterval: Self.unsetTimeout)
  }

  /// - Parameter previous: The request that it was made of, which has the order of the fields.
  init(_ request: URLRequest, changing previous: HTTPRequest? = nil) throws {
    guard let url = request.url else { throw URLError(.badURL) }
    let body = request.httpBodyStream.map(Body.stream) ?? request.httpBody.map(Body.data)
    storage = Storage(
      method: request.httpMethod ?? "GET", url: url,
      fields: HeaderFieldList(request.allHTTPHeaderFields ?? [:], inOrderOf: previous?.fields), body: body,
      timeoutInterval: request.timeoutInterval, original: request, isOriginal: true)
  }

  private var changed: Storage {
    mutating get {
      if storage.isOriginal || !isKnownUniquelyReferenced(&storage) { storage = Storage(changing: storage) }
      return storage
    }
  }

  var method: String {
    get { storage.method }
    set { changed.method = newValue }
  }

  var url: URL {
    get { storage.url }
    set { changed.url = newValue }
  }

  var fields: HeaderFieldList { storage.fields }

  var body: Body? {
    get { storage.body }
    set { changed.body = newValue }
  }

  /// In seconds: ``idleTimeout(default:)``.
  var timeoutInterval: TimeInterval {
    get { storage.timeoutInterval }
    set { changed.timeoutInterval = newValue }
  }

  /// Whether the session may send and store cookies.
  var handlesCookies: Bool { storage.original?.httpShouldHandleCookies ?? true }

  /// The URL of the document that the request is part of, for a session that takes cookies from that alone.
  var mainDocumentURL: URL? { storage.original?.mainDocumentURL }

  /// Makes the system's cache not respond, by rules of its own.
  mutating func bypassSystemCache() { changed.bypassesSystemCache = true }

  // MARK: - Header fields

  /// Returns the value of a field. `name` is in lower case.
  func value(_ name: String) -> String? { storage.fields.first(name) }

  mutating func set(_ name: String, _ value: String?) {
    guard let value else { return remove(name.lowercased()) }
    changed.fields.replace(name, value)
  }

  /// Removes a field. `name` is in lower case.
  mutating func remove(_ name: String) {
    if fields.contains(name) { changed.fields.remove(name) }
  }

  mutating func removeFields(where isUnwanted: (_ name: String, _ value: String) -> Bool) {
    let kept = fields.filter { !isUnwanted($0.name, $0.value) }
    if kept.count < fields.count { changed.fields = HeaderFieldList(fields: kept) }
  }

  /// Removes the fields that must not be sent to another origin, and those of a trace.
  mutating func removeOriginFields(unless kept: (_ name: String, _ value: String) -> Bool = { _, _ in false }) {
    removeFields { OriginFields.stays($0) && !kept($0, $1) }
  }

  // MARK: - Meaning

  var isSafe: Bool { HTTPMethod.isSafe(method) }

  /// Whether the method is idempotent (RFC 9110 §9.2.2), or the server can tell a repetition by its `Idempotency-Key`.
  var isIdempotent: Bool { HTTPMethod(rawValue: method)?.isIdempotent == true || hasIdempotencyKey }

  var hasIdempotencyKey: Bool { fields.contains(Self.idempotencyKey) }

  /// The body of the library, if it is a stream of one.
  var bodySource: BodySource? {
    if case .stream(let stream)? = body { (stream as? BodyInputStream)?.source } else { nil }
  }

  var data: Data? { if case .data(let data)? = body { data } else { nil } }

  var stream: InputStream? { if case .stream(let stream)? = body { stream } else { nil } }

  /// Whether the body can be sent again: there is none, it is in memory or in a file, or it has not been read yet.
  var bodyIsReplayable: Bool {
    guard let stream else { return true }
    return bodySource?.isReplayable ?? (stream.streamStatus == .notOpen)
  }

  /// Whether the body is a stream that was already opened: none of it, or only its end, would be sent.
  var bodyStreamWasOpened: Bool {
    guard let stream else { return false }
    guard let source = bodySource else { return stream.streamStatus != .notOpen }
    guard case .stream(let sized) = source else { return false }
    return sized.stream.streamStatus != .notOpen
  }

  /// Returns how long the exchange may be idle, or `nil` for no limit.
  ///
  /// The request's own `timeoutInterval` is used if it differs from the documented default of 60 seconds, otherwise the
  /// configuration's `timeoutIntervalForRequest`. A value that is not a positive, finite number of seconds means no
  /// limit.
  func idleTimeout(default configured: TimeInterval) -> Duration? {
    Duration(timeInterval: timeoutInterval == Self.unsetTimeout ? configured : timeoutInterval)
  }

  /// Sets a timeout that applies even if it equals the default of a new request.
  mutating func setOwnTimeout(_ interval: TimeInterval) {
    timeoutInterval = interval == Self.unsetTimeout ? interval.nextUp : interval
  }

  // MARK: - For others

  var urlRequest: URLRequest {
    let storage = storage
    if storage.isOriginal, let original = storage.original { return original }
    var request = storage.original ?? URLRequest(url: storage.url)
    if storage.original != nil { request.url = storage.url }
    // A new `URLRequest` is already a GET, and the setter takes longer than everything else here.
    if request.httpMethod != storage.method { request.httpMethod = storage.method }
    // All at once: depending on the platform, the setter for one field silently drops a value, or sends it as an injected line.
    request.allHTTPHeaderFields = storage.fields.dictionary
    switch storage.body {
    case .data(let data)?: request.httpBody = data
    case .stream(let stream)?: request.httpBodyStream = stream
    case nil where storage.original != nil:
      request.httpBody = nil
      request.httpBodyStream = nil
    case nil: break
    }
    if request.timeoutInterval != storage.timeoutInterval { request.timeoutInterval = storage.timeoutInterval }
    if storage.bypassesSystemCache { request.cachePolicy = .reloadIgnoringLocalCacheData }
    return request
  }
}

extension URLRequest {
  mutating func removeFields(where isUnwanted: (_ name: String, _ value: String) -> Bool) {
    for (name, value) in allHTTPHeaderFields ?? [:] where isUnwanted(name, value) {
      setValue(nil, forHTTPHeaderField: name)
    }
  }
}
