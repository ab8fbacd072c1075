import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
    didSet { body = StreamingBody(content) }
  }
  /// The result of the call that `next` returned the response for; `nil` for a response created by middleware.
  var result: (any Sendable)?
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
    self.init(
      http.statusCode, http.headerDictionary, RereadableBody(response.body), response.head, response.redirect)
  }

  /// Creates the response of a call that has ended.
  init(_ response: CollectedResponse) throws {
    guard let http = response.head.urlResponse as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    self.init(http.statusCode, http.headerDictionary, RereadableBody(response.data, end: response.end), response.head)
  }

  private init(
    _ statusCode: Int, _ headers: [String: String], _ content: RereadableBody, _ head: ResponseHead?,
    _ redirect: RedirectDecision = .undecided
  ) {
    self.statusCode = statusCode
    self.headers = headers
    self.content = content
    body = StreamingBody(content)
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
    let received = (head?.urlResponse as? HTTPURLResponse)?.headerDictionary ?? [:]
    func names(_ fields: [String: String]) -> Set<String> { Set(fields.keys.map { $0.lowercased() }) }
    // In all spellings of its name.
    let changed = names(headers.filter { received[$0.key] != $0.value })
    let kept = names(headers).subtracting(changed)
    fields.remove { !kept.contains($0) }
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) where changed.contains(name.lowercased()) {
      fields.append(name, value)
    }
    return fields
  }

  /// The reason phrase; empty if there is none.
  var reasonPhrase: String { isChanged ? "" : head?.reasonPhrase ?? "" }

  /// Returns the response in the form that the rest of the library uses.
  ///
  /// - Parameter url: The URL of the request.
  func transportResponse(url: URL?) throws -> TransportResponse {
    if let head, !isChanged { return TransportResponse(head: head, body: content.take(), redirect: redirect) }
    var fields = HeaderFieldList()
    for field in headerFields {
      guard HeaderSyntax.isToken(field.name), let value = HeaderSyntax.trimmedValue(field.value) else {
        throw NetworkMiddlewareError.invalidResponse
      }
      fields.append(field.name, value)
    }
    guard (200..<600).contains(statusCode), let url = url ?? URL(string: "about:blank"),
      let head = ResponseHead.make(status: statusCode, reason: "", fields: fields, url: url)
    else { throw NetworkMiddlewareError.invalidResponse }
    return TransportResponse(head: head, body: content.take(), redirect: redirect)
  }
}
