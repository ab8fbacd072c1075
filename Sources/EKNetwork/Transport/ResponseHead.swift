import Foundation

/// The status and header fields of a response: Foundation's, or the bytes that were received.
struct ResponseHead: Sendable {
  private enum Source {
    case foundation(URLResponse)
    case raw(RawHead)
  }

  private var source: Source
  /// Whether redirects have led to another origin, to which the request's credentials were not sent.
  var isFromOtherOrigin = false
  /// Whether a redirect that must not be stored has led to it: ``RedirectState/mustNotBeStored``.
  var isBehindUnstorableRedirect = false
  /// Whether it is that of a stored response, and the server has not responded to the request.
  var isStored = false
  /// Whether the transport has delivered it for the request: another, of a cache or of middleware, does not prove a password.
  var isReceived = true
  /// Whether the request was sent with an `Authorization` that middleware has changed, so that it says nothing about the password.
  var isToOtherCredentials = false

  init(_ response: URLResponse) { source = .foundation(response) }

  init(_ head: RawHead) { source = .raw(head) }

  /// Creates a head; by default one of HTTP/1.1, which represents every version in a cache. Returns `nil` for values that a
  /// head cannot contain.
  ///
  /// - Parameter version: The version of the protocol; `nil` if it is not known.
  static func make(
    version: String? = "HTTP/1.1", status: Int, reason: String, fields: HeaderFieldList, url: URL
  ) -> ResponseHead? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(fields.fields.reduce(64) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 })
    bytes.append(contentsOf: "\(version ?? "") \(status) \(reason)\r\n".utf8)
    for field in fields.fields {
      bytes.append(contentsOf: field.name.utf8)
      bytes.append(contentsOf: ": ".utf8)
      bytes.append(contentsOf: field.value.utf8)
      bytes.append(contentsOf: "\r\n".utf8)
    }
    bytes.append(contentsOf: "\r\n".utf8)
    return RawHead(bytes: bytes, url: url).map { ResponseHead($0) }
  }

  /// The status code; `nil` for a response that is not HTTP.
  var statusCode: Int? {
    switch source {
    case .foundation(let response): (response as? HTTPURLResponse)?.statusCode
    case .raw(let head): head.statusCode
    }
  }

  var url: URL? {
    switch source {
    case .foundation(let response): response.url
    case .raw(let head): head.url
    }
  }

  /// Whether the status is one of these, or the response is not HTTP.
  func isAccepted(_ statuses: StatusCodes) -> Bool { statusCode.map { statuses.contains($0) } ?? true }

  /// Whether the status is one that clients follow to the `Location` (RFC 9110 §15.4).
  var isRedirect: Bool { statusCode.map { [301, 302, 303, 307, 308].contains($0) } ?? false }

  /// Returns whether a body follows, whatever the header fields say (RFC 9112 §6.3).
  func hasBody(method: String?) -> Bool { method != "HEAD" && statusCode != 204 && statusCode != 304 }

  /// Returns the value of a field, ignoring the case of its name; repeated fields are joined with `", "`. `name` is in
  /// lower case.
  func value(_ name: StaticString) -> String? {
    switch source {
    case .foundation(let response):
      return (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "\(name)")
    case .raw(let head):
      guard head.has(name) else { return nil }
      return head.values(name).joined(separator: ", ")
    }
  }

  /// Returns the same with the bytes that are not UTF-8 as ``ObsoleteText``, to be sent back as they were received.
  func carried(_ name: StaticString) -> String? {
    guard case .raw(let head) = source else { return value(name) }
    return head.has(name) ? head.bytes(name).map(ObsoleteText.text).joined(separator: ", ") : nil
  }

  /// Returns the value of a field that has a single one, for a decision that depends on it. `name` is in lower case.
  ///
  /// - Throws: `URLError.badServerResponse` for different values.
  func single(_ name: StaticString) throws(URLError) -> String? {
    do { return try SingletonField.value(of: lines(name)) } catch {
      throw URLError(.badServerResponse, url: url, description: "The response has different values of \"\(name)\"")
    }
  }

  /// Returns the value of a field that has a single one, which is ignored if it has different ones. `name` is in lower
  /// case.
  func hint(_ name: StaticString) -> String? { try? SingletonField.value(of: lines(name)) }

  /// The values of a field, one by one where the received bytes are known.
  private func lines(_ name: StaticString) -> [String] {
    switch source {
    case .foundation: value(name).map { [SingletonField.value(ofJoined: $0)] } ?? []
    case .raw(let head): head.values(name)
    }
  }

  /// The bytes of the `Set-Cookie` values, one by one where the received bytes are known: joined with commas, cookies
  /// cannot be told apart (RFC 9110 §5.3).
  var setCookieLines: [[UInt8]] {
    switch source {
    case .foundation: value("set-cookie").map { [Array($0.utf8)] } ?? []
    case .raw(let head): head.bytes("set-cookie")
    }
  }

  /// All fields in order. Foundation joins repeated ones and loses the order.
  var fields: HeaderFieldList {
    switch source {
    case .foundation(let response): (response as? HTTPURLResponse).map { HeaderFieldList($0) } ?? HeaderFieldList()
    case .raw(let head): HeaderFieldList(head.fields)
    }
  }

  /// Returns the head with another field, after all others.
  ///
  /// - Parameter url: The URL of the request, if the head has none.
  func adding(_ name: String, _ value: String, url: URL) -> ResponseHead {
    if case .raw(let head) = source { return head.adding(name, value).map { ResponseHead($0) } ?? self }
    guard let statusCode else { return self }
    var fields = fields
    fields.append(name, value)
    return Self.make(version: nil, status: statusCode, reason: "", fields: fields, url: self.url ?? url) ?? self
  }

  /// Returns the head with a status, and with `fields` in place of those that are not kept; `nil` if it cannot contain them. The
  /// rest stays as it was received.
  ///
  /// - Parameters:
  ///   - isKept: Whether the fields of a name, in lower case, are kept.
  ///   - url: The URL of the request, if the head has none.
  func changed(
    status: Int, keeping isKept: (String) -> Bool, adding fields: HeaderFieldList, url: URL
  ) -> ResponseHead? {
    var head = self
    switch source {
    case .raw(let raw):
      guard let raw = raw.changed(status: status, keeping: isKept, adding: fields) else { return nil }
      head.source = .raw(raw)
    case .foundation:
      var all = self.fields
      all.remove { !isKept($0) }
      for field in fields { all.append(field.name, field.value) }
      guard let made = Self.make(version: nil, status: status, reason: "", fields: all, url: self.url ?? url) else {
        return nil
      }
      head.source = made.source
    }
    return head
  }

  /// The version of the protocol, such as `HTTP/1.1`; `nil` where it is not known.
  var version: String? {
    if case .raw(let head) = source { head.version } else { nil }
  }

  /// The reason phrase (RFC 9112 §4); empty for Foundation's responses, which drop it.
  var reasonPhrase: String {
    if case .raw(let head) = source { head.reasonPhrase } else { "" }
  }

  /// Whether the body is sent in chunks (RFC 9112 §7.1).
  var isChunked: Bool { value("transfer-encoding").map { FieldList.contains("chunked", in: $0) } == true }

  /// The announced length of the body; `nil` if there is none, if it is invalid, or if the body is chunked, which
  /// overrides it (RFC 9112 §6.3).
  var contentLength: Int64? {
    guard let length = announcedLength, !isChunked else { return nil }
    return length
  }

  private var announcedLength: Int64? {
    if case .raw(let head) = source, let length = head.number("content-length") { return length }
    // RFC 9110 §8.6: the same length may be repeated, also in a list.
    let text = value("content-length").map { SingletonField.value(ofJoined: $0) }
    guard let length = text.flatMap({ Int64($0) }), length >= 0 else { return nil }
    return length
  }

  /// How long the server asks the client to wait (RFC 9110 §10.2.3).
  var retryAfter: Duration? {
    let now = Date()
    return hint("retry-after").flatMap { RetryAfter.delay($0, now: now) }
  }

  /// The response as a Foundation type. It is created on each access.
  var urlResponse: URLResponse {
    switch source {
    case .foundation(let response): response
    case .raw(let head): head.urlResponse
    }
  }
}
