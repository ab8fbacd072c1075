import Foundation

/// The identity of a request's sender, by its credentials and cookies. Two identities share only responses that may be
/// shared.
struct CacheIdentity: Sendable, Hashable {
  /// A digest of the credentials; `nil` if there are none.
  let credentials: String?
  /// A digest of the cookies; `nil` if there are none.
  let cookies: String?

  /// - Parameters:
  ///   - fields: The fields of the request as it is sent. A field whose name merely resembles a credential costs a
  ///     cache hit.
  ///   - session: What else distinguishes the users of sessions.
  init(_ fields: HeaderFieldList, session: String? = nil) {
    var text = ""
    for field in fields.fields {
      let name = field.name.lowercased()
      if name != "cookie", name != "host", OriginFields.contains(name) { text += "\(name):\(field.value)\n" }
    }
    if let session { text += "\n\(session)" }
    credentials = text.isEmpty ? nil : Self.digest(text)
    cookies = fields.value("cookie").map { Self.digest($0) }
  }

  init(credentials: String?, cookies: String?) {
    self.credentials = credentials
    self.cookies = cookies
  }

  var isAnonymous: Bool { credentials == nil && cookies == nil }

  /// Returns whether a response to a request of this identity may be used for another identity.
  ///
  /// RFC 9111 §3.5, the rule for shared caches: it may if the response is `public`. A response to a user without a
  /// cookie may also be used once the same user has one.
  func mayShare(with other: CacheIdentity, directives: CacheDirectives) -> Bool {
    self == other || directives.isShareable || (isAnonymous && other.credentials == nil)
  }

  static func digest(_ text: String) -> String { String(SHA256.hexadecimal(Array(text.utf8)).prefix(32)) }
}
