import Foundation

/// The properties of a cookie that RFC 6265bis requires a client to know, but that `HTTPCookie` cannot store on every
/// platform. They are stored in the cookie's comment, which no server can set.
struct CookieNote: Equatable {
  /// When the cookie was first set, in seconds since 2001; setting it again does not change that (§5.7, step 23.3).
  var created: Double
  var sameSite: SetCookieLine.SameSite?
  /// FoundationNetworking's storage writes `Secure` to its file in a form that it does not read.
  var isSecure: Bool

  init(created: Double, sameSite: SetCookieLine.SameSite?, isSecure: Bool) {
    self.created = created
    self.sameSite = sameSite
    self.isSecure = isSecure
  }

  /// The property that contains the note.
  static let key = HTTPCookiePropertyKey(rawValue: "Comment")

  init(of cookie: HTTPCookie) {
    let words = (cookie.properties?[Self.key] as? String ?? "").split(separator: " ")
    if words.count > 1, words[0] == "created", let created = Double(words[1]) {
      self.created = created
      sameSite = words.dropFirst(2).lazy.compactMap { SetCookieLine.SameSite(rawValue: String($0)) }.first
      isSecure = cookie.isSecure || words.dropFirst(2).contains("secure")
    } else {
      // The cookie was stored by other code.
      created = cookie.properties?[HTTPCookiePropertyKey(rawValue: "Created")] as? Double ?? 0
      sameSite = nil
      isSecure = cookie.isSecure
    }
  }

  var text: String { "created \(created)" + (sameSite.map { " \($0.rawValue)" } ?? "") + (isSecure ? " secure" : "") }
}
