import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One hop of a request, complete: its own fields, those of its session, and its cookies, as far as its origin may see
/// them. This is the one place where they are put together, whatever carries the request.
struct HopRequest: Sendable {
  /// The request as its caller made it, or the redirect before: what another redirect goes on with.
  private(set) var own: URLRequest
  /// The request as it is sent.
  private(set) var urlRequest: URLRequest
  /// The names of the fields that ``urlRequest`` has and ``own`` has not.
  private(set) var addedFields: [String]
  /// Whether the origin that the session's credentials are meant for has been left. They do not come back with it: who
  /// sent the request away also chose what it comes back with.
  let hasLeftOrigin: Bool
  private let start: URL?
  /// Whether a redirect has led to this hop.
  var isRedirected: Bool { start != nil }
  private var session: SessionSettings?

  /// A request to which no session adds anything.
  init(_ request: URLRequest) {
    own = Self.withUserOfURL(request)
    urlRequest = own
    addedFields = []
    hasLeftOrigin = false
    start = nil
    session = nil
  }

  /// - Parameters:
  ///   - request: The request without what its session adds.
  ///   - session: What it is sent over.
  ///   - hasLeftOrigin: Whether a redirect, or middleware, has led to another origin.
  ///   - start: The URL that the request began with, if a redirect has led to this hop.
  /// - Throws: ``InvalidHeaderError`` for a field of the session that cannot be sent.
  // Not in the frame of the exchange, which is kept while a request waits: see ``RequestRunner``.
  @inline(never)
  init(_ request: URLRequest, session: SessionSettings, hasLeftOrigin: Bool = false, start: URL? = nil) throws {
    own = Self.withUserOfURL(request)
    self.session = session
    self.hasLeftOrigin = hasLeftOrigin
    self.start = start
    var sent = own
    var added: [String] = []
    for (name, value) in session.additionalHeaders {
      guard HeaderSyntax.isToken(name) else { throw InvalidHeaderError(field: name, reason: .invalidName) }
      guard let value = HeaderSyntax.trimmedValue(value) else {
        throw InvalidHeaderError(field: name, reason: .invalidValue)
      }
      guard sent.value(forHTTPHeaderField: name) == nil, !(hasLeftOrigin && OriginFields.contains(name)) else {
        continue
      }
      sent.setValue(value, forHTTPHeaderField: name)
      added.append(name)
    }
    if !session.systemSendsCookies, session.cookies.apply(to: &sent, start: start) { added.append("Cookie") }
    urlRequest = sent
    addedFields = added
  }

  /// What the URL says of its user is a field like another: within the origin it stays, elsewhere it does not go.
  private static func withUserOfURL(_ request: URLRequest) -> URLRequest {
    guard let field = request.url?.basicAuthorization, request.value(forHTTPHeaderField: "Authorization") == nil
    else { return request }
    var request = request
    request.setValue(field, forHTTPHeaderField: "Authorization")
    return request
  }

  /// The same hop, its body read from elsewhere.
  func sending(_ body: InputStream) -> HopRequest {
    var hop = self
    hop.own.httpBodyStream = body
    hop.urlRequest.httpBodyStream = body
    return hop
  }

  /// The same hop as it is sent instead, over this session.
  func replaced(by request: URLRequest, session: SessionSettings) -> HopRequest {
    var hop = self
    hop.urlRequest = request
    hop.session = session
    hop.addedFields = (request.allHTTPHeaderFields ?? [:]).keys.filter { own.value(forHTTPHeaderField: $0) == nil }
    return hop
  }

  /// The same hop with other fields for this one time, and past the system's own cache, which would respond by rules of
  /// its own.
  func sending(_ fields: [(name: String, value: String)]) -> HopRequest {
    var hop = self
    hop.urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
    for (name, value) in fields { hop.urlRequest.setValue(value, forHTTPHeaderField: name) }
    return hop
  }

  /// Every field that is sent, also the cookies that the system adds.
  var sentFields: [String: String] {
    guard let session, session.systemSendsCookies else { return urlRequest.allHTTPHeaderFields ?? [:] }
    var sent = urlRequest
    session.cookies.apply(to: &sent, start: start)
    return sent.allHTTPHeaderFields ?? [:]
  }

  /// What the session does, beside its fields, that tells users apart.
  var sessionIdentity: String? {
    guard let session, session.owner != nil || session.clientCertificate != nil else { return nil }
    return "\(session.owner ?? "")\n\(session.clientCertificate ?? "")"
  }

  /// Who asks, as far as it shows.
  var identity: RequestIdentity { identity(without: RequestIdentity.neutral) }

  /// Who asks, and for which of several representations.
  var selectingIdentity: RequestIdentity {
    identity(without: RequestIdentity.neutral.subtracting(RequestIdentity.negotiated))
  }

  private func identity(without neutral: Set<String>) -> RequestIdentity {
    RequestIdentity(
      fields: sentFields, without: neutral, session: session.map { [$0.owner, $0.clientCertificate] } ?? [])
  }

  /// Whether the response may be for one user alone.
  var namesUser: Bool {
    session?.owner != nil || session?.clientCertificate != nil
      || sentFields.keys.contains { OriginFields.contains($0) && $0.lowercased() != "host" }
  }
}

extension URL {
  /// The credentials that the URL holds, as the field that they mean (RFC 7617 §2). `nil` without any.
  fileprivate var basicAuthorization: String? {
    guard let user = user(percentEncoded: false) else { return nil }
    let pair = user + ":" + (password(percentEncoded: false) ?? "")
    return pair == ":" ? nil : "Basic " + Data(pair.utf8).base64EncodedString()
  }
}
