import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response on its way through ``NetworkMiddleware``.
///
/// The body is read once: who wants to look at it takes it by ``data(maximumSize:)``, which puts it back, for copies of
/// this response too.
public struct NetworkMiddlewareResponse: Sendable {
  /// The status code.
  public var statusCode: Int { didSet { isChanged = true } }
  /// The header fields; the values of a repeated field are joined with `", "`.
  public var headers: [String: String] { didSet { isChanged = true } }
  /// The body.
  public private(set) var body: StreamingBody

  private var content: RereadableBody {
    didSet { body = StreamingBody(content) }
  }
  /// What `next` has returned it for; `nil` for a response of the middleware's own.
  var result: (any Sendable)?
  private let head: ResponseHead?
  private let redirect: RedirectDecision
  private var isChanged = false

  /// A response of the middleware's own.
  public init(statusCode: Int, headers: [String: String] = [:], data: Data = Data()) {
    self.init(statusCode, headers, BufferedBody(data), nil)
  }

  /// A response of the middleware's own, whose body comes in pieces.
  public init(statusCode: Int, headers: [String: String] = [:], chunks: AsyncThrowingStream<Data, Error>) {
    self.init(statusCode, headers, AsyncSequenceBody(chunks), nil)
  }

  init(_ response: TransportResponse) throws {
    guard let http = response.head.urlResponse as? HTTPURLResponse else { throw NetworkError.invalidResponse }
    self.init(http.statusCode, http.headerDictionary, response.body, response.head, response.redirect)
  }

  private init(
    _ statusCode: Int, _ headers: [String: String], _ body: any TransportBody, _ head: ResponseHead?,
    _ redirect: RedirectDecision = .undecided
  ) {
    self.statusCode = statusCode
    self.headers = headers
    content = RereadableBody(body)
    self.body = StreamingBody(content)
    self.head = head
    self.redirect = redirect
  }

  /// The value of a field, whatever the case of its name.
  public func value(forHTTPHeaderField name: String) -> String? { headers.field(name) }

  /// The whole body, which stays there to be read.
  ///
  /// - Parameter maximumSize: The most bytes that are read. Defaults to 16 MiB.
  /// - Throws: ``ResponseLimitError`` for a longer body, ``ConcurrentReadError`` while another reads it, and whatever ends
  ///   it early.
  public mutating func data(maximumSize: Int = 16 * 1024 * 1024) async throws -> Data {
    final class Reader {}
    let (reader, source) = (Reader(), body.source)
    guard source.claim(for: reader) else { throw ConcurrentReadError() }
    defer { source.release(by: reader) }
    return try await content.collect(maximumSize: maximumSize)
  }

  /// The same with another body. `Content-Length` is the caller's to set.
  public func replacingBody(with data: Data) -> NetworkMiddlewareResponse {
    var response = self
    response.content = RereadableBody(BufferedBody(data))
    return response
  }

  /// The same, its body read through another.
  func watchingBody(_ watch: (any TransportBody) -> any TransportBody) -> NetworkMiddlewareResponse {
    var response = self
    response.content = RereadableBody(watch(content.current))
    return response
  }

  /// Every field, those of the same name apart where the server has sent them so.
  var fields: CacheFields { isChanged ? CacheFields(headers) : head?.cacheFields ?? CacheFields(headers) }

  /// The reason phrase; empty where there is none.
  var reasonPhrase: String { isChanged ? "" : head?.reasonPhrase ?? "" }

  /// As the rest of the library has it.
  ///
  /// - Parameter url: The URL of the request.
  func transportResponse(url: URL?) throws -> TransportResponse {
    if let head, !isChanged { return TransportResponse(head: head, body: content.current, redirect: redirect) }
    var fields = CacheFields()
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      guard HeaderSyntax.isToken(name), let value = HeaderSyntax.trimmedValue(value) else {
        throw NetworkMiddlewareError.invalidResponse
      }
      fields.append(name, value)
    }
    guard (200..<600).contains(statusCode), let url = url ?? URL(string: "about:blank"),
      let head = ResponseHead.make(status: statusCode, reason: "", fields: fields, url: url)
    else { throw NetworkMiddlewareError.invalidResponse }
    return TransportResponse(head: head, body: content.current, redirect: redirect)
  }
}
