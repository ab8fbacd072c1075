import Foundation

/// Who asked: what a request proves about its sender. Two senders share no response unless it may be shared.
struct CacheIdentity: Sendable, Hashable {
  /// A digest of the credentials; `nil` without any.
  let credentials: String?
  /// A digest of the cookies; `nil` without any.
  let cookies: String?

  /// - Parameters:
  ///   - fields: The fields of the request as it is sent. One whose name merely looks like a credential costs a hit.
  ///   - session: What else tells the users of sessions apart.
  init(_ fields: CacheFields, session: String? = nil) {
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

  /// Whether a response that was given to this identity may be given to another one.
  ///
  /// RFC 9111 §3.5, by which caches that several people share go: yes if the response says `public`. What was given to
  /// a user who had no cookie yet is for the same user with one, too.
  func mayShare(with other: CacheIdentity, directives: CacheDirectives) -> Bool {
    self == other || directives.isShareable || (isAnonymous && other.credentials == nil)
  }

  static func digest(_ text: String) -> String { String(SHA256.hexadecimal(Array(text.utf8)).prefix(32)) }
}
