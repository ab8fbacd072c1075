import Foundation

/// Code that wraps requests: it intercepts each request and each response, and may change both, send the request
/// several times, or respond without the network.
///
/// The same type is used in two places. In ``NetworkManager/middleware`` it wraps a whole call: retries, token
/// refreshes and redirects happen inside `next`, which returns a successful response or throws the error of the call.
/// In ``NetworkManager/attemptMiddleware`` it wraps each single request, so it runs again for every retry and every
/// redirect, and receives every status. Several run in order, the first outermost.
///
/// It is not used for WebSockets.
public protocol NetworkMiddleware: Sendable {
  /// Passes a request on, or responds to it.
  ///
  /// It runs off the caller's actor, in a task that belongs to the call: cancelling the caller's task cancels whatever is
  /// awaited here. A middleware that ignores that is left behind after a tenth of a second.
  ///
  /// - Parameters:
  ///   - request: The request: for a call, as built for its first attempt; for an attempt, as sent, with the session's
  ///     header fields and cookies.
  ///   - context: Information about the request that is not part of it.
  ///   - next: Passes a request on. It may be called not at all, once, or several times one after another. A streamed
  ///     body can be sent once; the second time throws ``RequestBodyError/alreadySent``.
  /// - Returns: The response of `next`, or one of its own.
  /// - Throws: The error for the caller; for an attempt it is treated like a network error, which the retry policy
  ///   receives.
  func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse
}

/// Information about a request that is not part of the request itself.
public struct NetworkMiddlewareContext: Sendable, Equatable {
  /// Whether the request follows a redirect; always `false` for a call.
  public var isRedirected: Bool
  /// Whether the request has left the origin that the caller's credentials are meant for: by its
  /// ``NetworkRequest/targetURL``, by a redirect, or because middleware around the call has changed its URL. It stays `true`
  /// if a redirect returns to that origin. Do not add credentials for that origin then; the library has removed its own.
  public var hasLeftOrigin: Bool
  var limit = Limit()

  /// It does not count in comparisons: tests create contexts without it.
  struct Limit: Sendable, Equatable {
    /// When the request has to be finished; `nil` for no limit.
    var deadline: ContinuousInstant?

    static func == (_: Self, _: Self) -> Bool { true }
  }

  /// Creates a context as the library passes it, for tests.
  public init(isRedirected: Bool = false, hasLeftOrigin: Bool = false) {
    self.isRedirected = isRedirected
    self.hasLeftOrigin = hasLeftOrigin
  }
}

/// The next step after a middleware, called as `try await next(request)`.
public struct NetworkMiddlewareNext: Sendable {
  private let work: @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse

  /// Creates a step with custom behaviour, for tests of middleware.
  public init(_ work: @escaping @Sendable (URLRequest) async throws -> NetworkMiddlewareResponse) { self.work = work }

  /// Passes a request on, and returns its response as soon as the head has arrived; around a whole `send` or
  /// `download`, when the complete response has arrived.
  ///
  /// - Throws: The error because of which there is no response; around a call, the error of the call.
  ///   `CancellationError` when the task is cancelled.
  public func callAsFunction(_ request: URLRequest) async throws -> NetworkMiddlewareResponse {
    try await work(request)
  }
}

/// An error for incorrect behaviour of middleware.
public enum NetworkMiddlewareError: LocalizedError, ClassifiedError, Equatable, Sendable {
  /// Middleware around attempts changed the scheme, host, port or path of a request, whose header fields are meant for
  /// the original destination. Around a call they may be changed.
  case changedDestination
  /// Around a call, `next` was called while an earlier call of it was under way, or after the call had ended.
  case overlappingCalls
  /// A response created by middleware has an invalid status or invalid header fields, or middleware has returned a
  /// response whose body it has read, in part or to its end, or has returned before.
  case invalidResponse

  var failureKind: FailureKind { .unclear }

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .changedDestination: "Attempt middleware changed the scheme, host, port or path of a request"
    case .overlappingCalls:
      "Middleware called `next` while an earlier call was in progress, or after the call had ended"
    case .invalidResponse:
      "Middleware returned a response with an invalid status or header field, or with a body that was already read"
    }
  }
}

/// Middleware that reads the timings of the connection, which are measured only on request.
protocol TimedMiddleware: NetworkMiddleware {}

/// Middleware that only decides whether, and when, a request is sent. Where none is sent, it is not used.
protocol AdmissionMiddleware: NetworkMiddleware {}

extension [any NetworkMiddleware] {
  /// Returns the middleware that a request with this lookup passes through.
  func used(for lookup: PolicyLookup?) -> Self {
    lookup?.isStoredOnly == true ? filter { !($0 is any AdmissionMiddleware) } : self
  }
}

/// A response that passes through ``NetworkMiddleware``.
///
/// The body can be read once. Middleware that needs it calls ``data(maximumSize:)``, after which it can still be read,
/// also by copies of this response, any number of times. If middleware reads the ``body`` itself as it arrives, the
/// caller does not get it: a response that is returned then fails with ``NetworkMiddlewareError/invalidResponse``,
/// unless it is given another body with ``replacingBody(with:)``.
public struct NetworkMiddlewareResponse: ResponseHeaderFields, Sendable {
  /// The status code.
  public var statusCode: Int { didSet { isChanged = true } }
  /// The header fields; the values of a repeated field are joined with `", "`.
  public var headers: [String: String] { didSet { isChanged = true } }
  /// The body.
  public private(set) var body: StreamingBody

  private var content: RereadableBody {
    didSet { body = StreamingBody(ReadOnceBody(content, mayBeReadAgain: true)) }
  }
  /// The result of the call that `next` returned the response for; `nil` for a response created by middleware.
  var result: (any Sendable)?
  /// The number of bytes of a body that was written to a file instead of ``body``, which is empty.
  var savedSize: Int64?
  /// The number of the failure that it is, if several callers share it: ``FlightFailure/number``.
  private(set) var failure: Int?
  private let head: ResponseHead?
  private let redirect: RedirectDecision
  private var isChanged = false

  /// Creates a response that does not come from `next`.
  public init(statusCode: Int, headers: [String: String] = [:], data: Data = Data()) {
    self.init(statusCode, headers, RereadableBody(data), nil)
  }

  /// Creates a response that does not come from `next`, whose body arrives in chunks.
  public init(statusCode: Int, headers: [String: String] = [:], chunks: AsyncThrowingStream<Data, Error>) {
    self.init(statusCode, headers, RereadableBody(ChunkStreamBody(chunks)), nil)
  }

  init(_ response: TransportResponse) throws {
    guard let http = response.head.urlResponse as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    self.init(http.statusCode, http.headerDictionary, RereadableBody(response.body), response.head, response.redirect)
  }

  init(_ response: CollectedResponse) throws {
    guard let http = response.head.urlResponse as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    let content =
      if let error = response.readError {
        // A body that could not be read must not be taken for an empty one.
        RereadableBody(FailedBody(error))
      } else {
        RereadableBody(response.data, end: response.end)
      }
    self.init(http.statusCode, http.headerDictionary, content, response.head)
    failure = response.end?.failure
  }

  private init(
    _ statusCode: Int, _ headers: [String: String], _ content: RereadableBody, _ head: ResponseHead?,
    _ redirect: RedirectDecision = .undecided
  ) {
    self.statusCode = statusCode
    self.headers = headers
    self.content = content
    body = StreamingBody(ReadOnceBody(content, mayBeReadAgain: true))
    self.head = head
    self.redirect = redirect
  }

  /// Returns the value of a header field; names are case-insensitive.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  /// Reads the whole body, which can still be read afterwards.
  ///
  /// - Parameter maximumSize: The maximum number of bytes to read; a negative number counts as 0. Defaults to 16 MiB.
  /// - Throws: ``ResponseLimitError`` for a longer body, ``ConcurrentReadError`` while another reader reads it, and the
  ///   error that ends it early.
  public mutating func data(maximumSize: Int = 16 * 1024 * 1024) async throws -> Data {
    final class Reader {}
    let (reader, source) = (Reader(), body.source)
    guard source.claim(for: reader) else { throw ConcurrentReadError() }
    defer { source.release(by: reader) }
    return try await content.collect(maximumSize: max(0, maximumSize))
  }

  /// Returns the response with another body. The caller has to set `Content-Length`.
  public func replacingBody(with data: Data) -> NetworkMiddlewareResponse {
    var response = self
    response.content = RereadableBody(data)
    return response
  }

  /// Returns the response with its body, which is no longer this one's, wrapped in another.
  func watchingBody(_ watch: (any TransportBody) -> any TransportBody) -> NetworkMiddlewareResponse {
    var response = self
    response.content = RereadableBody(watch(content.take()))
    return response
  }

  /// The header fields in order, repeated ones separate if they were received so. Those that were changed in ``headers`` follow
  /// the others.
  public var headerFields: HeaderFieldList {
    guard var fields = head?.fields else { return HeaderFieldList(headers) }
    guard isChanged else { return fields }
    let (kept, changed) = changes
    fields.remove { !kept.contains($0) }
    for field in changed { fields.append(field.key, field.value) }
    return fields
  }

  /// The names, in lower case, of the fields that are as they were received, and the other fields, sorted by name. A name stands
  /// for all its spellings.
  private var changes: (kept: Set<String>, fields: [(key: String, value: String)]) {
    let received = (head?.urlResponse as? HTTPURLResponse)?.headerDictionary ?? [:]
    let changed = Set(headers.lazy.filter { received[$0.key] != $0.value }.map { $0.key.lowercased() })
    let fields = headers.filter { changed.contains($0.key.lowercased()) }.sorted { $0.key < $1.key }
    return (Set(headers.keys.map { $0.lowercased() }).subtracting(changed), fields)
  }

  /// Whether a cache has stored the response: it says nothing about the server now.
  var isStored: Bool { head?.isStored == true }

  var reasonPhrase: String { head?.statusCode == statusCode ? head?.reasonPhrase ?? "" : "" }

  /// - Parameter url: The URL of the request, for a response that does not come from `next`.
  func transportResponse(url: URL?) throws -> TransportResponse {
    if let head, !isChanged { return TransportResponse(head: head, body: content.take(), redirect: redirect) }
    let (kept, changed) = changes
    var fields = HeaderFieldList()
    for (name, value) in changed {
      guard HeaderSyntax.isToken(name), let value = HeaderSyntax.trimmedValue(value) else {
        throw NetworkMiddlewareError.invalidResponse
      }
      fields.append(name, value)
    }
    guard (200..<600).contains(statusCode), let url = head?.url ?? url ?? URL(string: "about:blank"),
      // What is kept is as without middleware: servers also send fields that a client must not create.
      var new = head.map({
        $0.changed(status: statusCode, keeping: { kept.contains($0) }, adding: fields, url: url)
      }) ?? ResponseHead.make(status: statusCode, reason: "", fields: fields, url: url)
    else { throw NetworkMiddlewareError.invalidResponse }
    new.isReceived = false
    return TransportResponse(head: new, body: content.take(), redirect: redirect)
  }
}

extension NetworkMiddlewareResponse: Redacted {
  var redacted: String { FailedExchange(url: head?.url, status: statusCode).text }
}
