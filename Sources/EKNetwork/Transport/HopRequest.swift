import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One hop of a request, complete: its own header fields, those of its session, and its cookies, as far as its origin
/// may receive them. This is the only place where they are put together, whichever transport sends the request.
struct HopRequest: Sendable {
  /// The request as its caller, or the previous redirect, made it. Another redirect starts from it.
  private(set) var own: URLRequest
  /// The request as it is sent.
  private(set) var urlRequest: URLRequest
  /// The names of the header fields that are in ``urlRequest`` but not in ``own``.
  private(set) var addedFields: [String]
  /// Whether the request has left the origin that the session's credentials are meant for. They are not added again
  /// when a redirect leads back to it: the other origin chose that request.
  let hasLeftOrigin: Bool
  private let start: URL?
  /// Whether a redirect has led to this hop.
  var isRedirected: Bool { start != nil }
  private var session: SessionSettings?
  /// What the session presented and trusted when the hop was made, as far as its origin is concerned: it is what the
  /// hop is sent over. The files may be replaced while the request is in progress, and the response still belongs to
  /// the user of these.
  private(set) var connection: ConnectionIdentity?
  /// The cookies that the system added when the hop was made, for the same reason.
  private var systemCookie: String?

  /// Creates a hop to which no session adds anything.
  init(_ request: URLRequest) {
    own = Self.withUserOfURL(request)
    urlRequest = own
    addedFields = []
    hasLeftOrigin = false
    start = nil
    session = nil
  }

  /// - Parameters:
  ///   - request: The request, without what its session adds.
  ///   - session: The settings of the session that sends it.
  ///   - hasLeftOrigin: Whether a redirect, or middleware, has led to another origin.
  ///   - start: The URL that the request began with, if a redirect has led to this hop.
  /// - Throws: ``InvalidHeaderError`` for a field of the session that cannot be sent.
  // Not inlined into the frame of the exchange, which is kept while a request waits: see ``RequestRunner``.
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
    connection = session.connection(hasLeftOrigin: hasLeftOrigin)
    systemCookie = Self.systemCookie(for: sent, of: session, start: start)
  }

  /// Adds the credentials in the URL as an `Authorization` field, which is kept within the origin and dropped
  /// elsewhere.
  private static func withUserOfURL(_ request: URLRequest) -> URLRequest {
    guard let field = request.url?.basicAuthorization, request.value(forHTTPHeaderField: "Authorization") == nil
    else { return request }
    var request = request
    request.setValue(field, forHTTPHeaderField: "Authorization")
    return request
  }

  /// Returns this hop with another stream as its body.
  func sending(_ body: InputStream) -> HopRequest {
    var hop = self
    hop.own.httpBodyStream = body
    hop.urlRequest.httpBodyStream = body
    return hop
  }

  /// Returns this hop with `request` as the one that is sent, over `session`.
  func replaced(by request: URLRequest, session: SessionSettings) -> HopRequest {
    var hop = self
    hop.urlRequest = request
    hop.session = session
    hop.connection = session.connection(hasLeftOrigin: hasLeftOrigin)
    hop.systemCookie = Self.systemCookie(for: request, of: session, start: start)
    hop.addedFields = (request.allHTTPHeaderFields ?? [:]).keys.filter { own.value(forHTTPHeaderField: $0) == nil }
    return hop
  }

  /// Returns this hop with these fields set for this hop alone, bypassing the system's cache, which would respond by
  /// rules of its own.
  func sending(_ fields: [(name: String, value: String)]) -> HopRequest {
    var hop = self
    hop.urlRequest.cachePolicy = .reloadIgnoringLocalCacheData
    for (name, value) in fields { hop.urlRequest.setValue(value, forHTTPHeaderField: name) }
    return hop
  }

  /// All header fields that are sent, including the cookies that the system adds.
  var sentFields: [String: String] {
    var fields = urlRequest.allHTTPHeaderFields ?? [:]
    // There is none in the request itself, to which the system would not add another.
    if let systemCookie { fields["Cookie"] = systemCookie }
    return fields
  }

  /// Whether the session still has the certificate and the authorities with which the hop was made. If not, the
  /// response may be to another user, and must not be stored: a connection reads the files when it is opened.
  var isOfCurrentUser: Bool { session.map { connection == $0.connection(hasLeftOrigin: hasLeftOrigin) } ?? true }

  private static func systemCookie(for request: URLRequest, of session: SessionSettings, start: URL?) -> String? {
    guard session.systemSendsCookies else { return nil }
    var sent = request
    return session.cookies.apply(to: &sent, start: start) ? sent.value(forHTTPHeaderField: "Cookie") : nil
  }

  /// The owner and the certificate of the session, if any, which tell users apart without a header field.
  var sessionParts: [String] {
    session.map { [$0.owner ?? "", connection?.certificate ?? ""] } ?? []
  }

  /// The same as a text; `nil` if there is neither.
  var sessionCredentials: String? {
    sessionParts.contains { !$0.isEmpty } ? sessionParts.joined(separator: "\n") : nil
  }

  /// Which session sends the request: ``SessionSettings/number``. `nil` if there is none.
  var sessionNumber: Int? { session?.number }

  /// The identity of the sender, as far as the request reveals it.
  var identity: RequestIdentity { RequestIdentity.of(self) }

  /// Whether the response may be specific to one user.
  var namesUser: Bool {
    session?.owner != nil || connection?.certificate != nil
      || sentFields.keys.contains { OriginFields.contains($0) && $0.lowercased() != "host" }
  }
}

extension URL {
  /// The credentials in the URL as the value of an `Authorization` field (RFC 7617 §2); `nil` if there are none.
  fileprivate var basicAuthorization: String? {
    guard let user = user(percentEncoded: false) else { return nil }
    let pair = user + ":" + (password(percentEncoded: false) ?? "")
    return pair == ":" ? nil : "Basic " + Data(pair.utf8).base64EncodedString()
  }
}
