import Foundation

/// Who asked: what a request proves about its sender. Two senders share no response unless it may be shared.
struct CacheIdentity: Sendable, Hashable {
  /// A digest of the credentials; `nil` without any.
  let credentials: String?
  /// A digest of the cookies; `nil` without any.
  let cookies: String?

  /// What the names of fields contain that prove something, whoever invented them. One that does not after all costs a
  /// hit.
  private static let credentialWords = [
    "auth", "token", "secret", "password", "session", "signature", "credential", "api-key", "apikey", "api_key",
    "access-key", "subscription-key", "csrf", "xsrf",
  ]

  init(_ fields: CacheFields) {
    var text = ""
    for field in fields.fields {
      let name = field.name.lowercased()
      if Self.credentialWords.contains(where: { name.contains($0) }) { text += "\(name):\(field.value)\n" }
    }
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
  /// somebody who had no cookie yet is good for the same somebody with one.
  func mayShare(with other: CacheIdentity, directives: CacheDirectives) -> Bool {
    self == other || directives.isPublic || (isAnonymous && other.credentials == nil)
  }

  static func digest(_ text: String) -> String { String(SHA256.hexadecimal(Array(text.utf8)).prefix(32)) }
}
