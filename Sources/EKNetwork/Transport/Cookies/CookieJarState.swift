import Foundation

/// The cookies of one storage in memory, what the storage is known to contain, and what is still to be written to it.
///
/// The memory is the truth. What other code has changed in the storage since it was last looked at is taken over, and
/// prevails over what was not written yet: only the program itself does that, when it logs a user in or out.
struct CookieJarState {
  /// §6.1 requires at least 50 cookies of a domain, and 3,000 in all; browsers use these limits.
  static let mostOfADomain = 180
  static let mostOfAll = 3_000

  struct Known {
    let object: HTTPCookie
    let cookie: StoredCookie
  }

  struct Contents {
    /// How often writing had begun: contents from before a write must not be taken for a removal of what was written.
    let writes: Int
    let objects: [HTTPCookie]
    /// The same by key.
    let known: [String: Known]
  }

  enum Write {
    case set(StoredCookie)
    case delete(HTTPCookie, key: String)
  }

  private var cookies: [String: StoredCookie] = [:]
  /// When each cookie was last sent, set or read from the storage (§5.7, "last-access-time"), as a number that
  /// increases, which no change of the clock affects. It is not written to the storage.
  private var accesses: [String: UInt64] = [:]
  private var lastAccess: UInt64 = 0
  /// The keys of the cookies of each domain, without its dot.
  private var keys: [String: [String]] = [:]

  private(set) var writes = 0
  private(set) var isWriting = false
  /// The contents of the storage when it was last looked at, in its order; `nil` if it was written since.
  private(set) var objects: [HTTPCookie]?
  /// The contents of the storage, as far as they are known, by key.
  private(set) var known: [String: Known] = [:]
  /// The keys of cookies that differ from the storage.
  private var unwritten: Set<String> = []

  /// Whether there is no cookie here, and none in the storage that is to be deleted.
  var isEmpty: Bool { cookies.isEmpty && known.isEmpty }

  /// Returns the cookies whose domain matches a host in lower case (§5.1.3).
  func matching(_ host: String) -> [StoredCookie] {
    var found = (keys[host] ?? []).compactMap { cookies[$0] }
    guard !HostSyntax.isAddress(host) else { return found.filter { $0.domain == host } }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      guard let parent = keys[String(rest)] else { continue }
      found += parent.lazy.compactMap { cookies[$0] }.filter(\.includesSubdomains)
    }
    return found
  }

  /// Notes that cookies were used, all at the same time (§5.8.3, step 3).
  mutating func noteUse(of used: [StoredCookie]) {
    lastAccess += 1
    for cookie in used where cookies[cookie.key] != nil { accesses[cookie.key] = lastAccess }
  }

  /// Stores a received cookie, or removes it if it has expired.
  ///
  /// - Parameter isSecureOrigin: Whether it was received over https. One that was not must neither replace a secure
  ///   cookie nor be sent in its place (§5.7, step 13): an attacker who can change unencrypted traffic could set it.
  mutating func set(_ cookie: StoredCookie, isSecureOrigin: Bool, now: Date) {
    if !isSecureOrigin, overlaysSecureCookie(cookie, now: now) { return }
    var cookie = cookie
    let key = cookie.key
    if let old = cookies[key], !old.hasExpired(by: now), old.name == cookie.name, old.path == cookie.path {
      cookie.created = old.created
    }
    guard !cookie.hasExpired(by: now) else {
      remove(key)
      return writeLater(key)
    }
    put(cookie, key)
    noteUse(of: [cookie])
    if known[key].map({ Self.isKept(cookie, by: $0.cookie, now: now) }) == true {
      unwritten.remove(key)
    } else {
      writeLater(key)
    }
  }

  /// Returns whether a stored cookie need not be written again. Servers extend a cookie's life with every response:
  /// that is written when a tenth of it has passed, and is known in memory until then.
  private static func isKept(_ cookie: StoredCookie, by stored: StoredCookie, now: Date) -> Bool {
    var same = stored
    same.expires = cookie.expires
    guard same == cookie else { return false }
    guard let expires = cookie.expires, let old = stored.expires else { return cookie.expires == stored.expires }
    return old <= expires && old.timeIntervalSince(now) >= 0.9 * expires.timeIntervalSince(now)
  }

  private func overlaysSecureCookie(_ cookie: StoredCookie, now: Date) -> Bool {
    func isProtected(_ old: StoredCookie?) -> Bool { old.map { $0.isSecure && !$0.hasExpired(by: now) } ?? false }
    if isProtected(cookies[cookie.key]) { return true }
    let domain = cookie.domainName
    for (other, keys) in keys where Self.isRelated(domain, other) {
      for key in keys {
        guard let old = cookies[key], old.name == cookie.name, cookie.path.isCookiePath(within: old.path) else {
          continue
        }
        if isProtected(old) { return true }
      }
    }
    return false
  }

  /// Returns whether one of two domains includes the other.
  private static func isRelated(_ domain: String, _ other: String) -> Bool {
    domain == other || domain.hasSuffix("." + other) || other.hasSuffix("." + domain)
  }

  /// Evicts cookies beyond the limits (§5.7, at its end): those that have expired, then from domains with too many,
  /// then from all; the least recently used first, after those of a domain that are not secure. Those that were not
  /// written never are.
  mutating func evict(now: Date) {
    guard cookies.count > Self.mostOfADomain else { return }
    // The storage drops those by itself.
    for (key, cookie) in cookies where cookie.hasExpired(by: now) { remove(key) }
    for keys in keys.values where keys.count > Self.mostOfADomain {
      evict(keys.count - Self.mostOfADomain, of: keys, sparingSecure: true)
    }
    if cookies.count > Self.mostOfAll {
      evict(cookies.count - Self.mostOfAll, of: Array(cookies.keys), sparingSecure: false)
    }
  }

  private mutating func evict(_ count: Int, of keys: [String], sparingSecure: Bool) {
    let ordered = keys.compactMap { key in
      cookies[key].map {
        (key: key, secure: sparingSecure && $0.isSecure ? 1 : 0, access: accesses[key] ?? 0, created: $0.created)
      }
    }.sorted { ($0.secure, $0.access, $0.created) < ($1.secure, $1.access, $1.created) }
    for (key, _, _, _) in ordered.prefix(count) {
      remove(key)
      writeLater(key)
    }
  }

  private mutating func put(_ cookie: StoredCookie, _ key: String) {
    // Of a cookie that had the same key but another domain.
    if let old = cookies[key], old.domainName != cookie.domainName { remove(key) }
    if cookies.updateValue(cookie, forKey: key) == nil { keys[cookie.domainName, default: []].append(key) }
  }

  private mutating func remove(_ key: String) {
    guard let old = cookies.removeValue(forKey: key) else { return }
    accesses[key] = nil
    let domain = old.domainName
    keys[domain]?.removeAll { $0 == key }
    if keys[domain]?.isEmpty == true { keys[domain] = nil }
  }

  private mutating func writeLater(_ key: String) {
    if cookies[key] == nil, known[key] == nil {
      unwritten.remove(key)
    } else {
      unwritten.insert(key)
    }
  }

  /// Returns whether the caller has to write: there is something to write, and nobody else does.
  mutating func beginsWriting() -> Bool {
    guard !isWriting, !unwritten.isEmpty else { return false }
    isWriting = true
    writes += 1
    return true
  }

  /// Returns the next change of the storage; `nil` ends the writing.
  mutating func nextWrite() -> Write? {
    while let key = unwritten.popFirst() {
      if let cookie = cookies[key] { return .set(cookie) }
      if let old = known[key] { return .delete(old.object, key: key) }
    }
    isWriting = false
    return nil
  }

  /// Notes that a cookie was written, or could not be; `nil` stands for one that was deleted.
  mutating func wrote(_ key: String, _ written: Known?) {
    known[key] = written
    objects = nil
  }

  /// Takes over what other code has changed in the storage.
  mutating func accept(_ contents: Contents, now: Date) {
    guard contents.writes == writes else { return }
    let fresh = contents.known
    var changed: [StoredCookie] = []
    for (key, entry) in fresh where known[key]?.object !== entry.object {
      put(entry.cookie, key)
      changed.append(entry.cookie)
      unwritten.remove(key)
    }
    noteUse(of: changed)
    for (key, old) in known where fresh[key] == nil {
      // A storage drops what has expired. The server may have extended its life since.
      if old.cookie.hasExpired(by: now), let cookie = cookies[key], !cookie.hasExpired(by: now) {
        known[key] = nil
        writeLater(key)
      } else {
        remove(key)
        unwritten.remove(key)
      }
    }
    known = fresh
    objects = contents.objects
  }
}

/// A cookie with everything that RFC 6265bis §5.7 requires a client to remember of it.
struct StoredCookie: Equatable, Sendable {
  var name: String
  var value: String
  /// In lower case; with a leading dot if it includes subdomains.
  var domain: String
  var path: String
  var expires: Date?
  /// When the cookie was first set, in seconds since 2001; setting it again does not change that (§5.7, step 23.3).
  var created: Double
  var isSecure: Bool
  var isHTTPOnly: Bool
  var sameSite: SetCookieLine.SameSite?
  /// Whether name and value are UTF-8. Otherwise each of their characters is one byte (ISO 8859-1): a cookie is
  /// returned with the bytes with which it was set (§5.6).
  var isUTF8 = true

  /// The key of the cookie. Foundation's storage on Linux identifies cookies by domain, path and name without
  /// separators.
  var key: String { domain + path + name }

  var domainName: String { domain.hasPrefix(".") ? String(domain.dropFirst()) : domain }

  var includesSubdomains: Bool { domain.hasPrefix(".") }

  /// The cookie as it is sent (§5.8.3).
  var pair: String { isUTF8 ? "\(name)=\(value)" : ObsoleteText.carried("\(name)=\(value)".unicodeScalars) }

  func hasExpired(by now: Date) -> Bool { expires.map { $0 <= now } ?? false }
}

/// `HTTPCookie` cannot store all properties on every platform. Those are written to the cookie's comment, which no
/// server can set: when it was created, `SameSite`, whether it is UTF-8, and `Secure`, which FoundationNetworking's
/// storage writes to its file in a form that it does not read.
extension StoredCookie {
  static let comment = HTTPCookiePropertyKey(rawValue: "Comment")

  init(_ cookie: HTTPCookie) {
    let properties = cookie.properties
    let words = (properties?[Self.comment] as? String ?? "").split(separator: " ")
    let isOwn = words.count > 1 && words[0] == "created"
    let notes = isOwn ? words.dropFirst(2) : []
    name = cookie.name
    value = cookie.value
    domain = cookie.domain.lowercased()
    path = cookie.path
    expires = cookie.expiresDate
    // What other code has stored has no comment of this form.
    created =
      (isOwn ? Double(words[1]) : nil) ?? properties?[HTTPCookiePropertyKey(rawValue: "Created")] as? Double ?? 0
    isSecure = cookie.isSecure || notes.contains("secure")
    isHTTPOnly = cookie.isHTTPOnly
    sameSite = notes.lazy.compactMap { SetCookieLine.SameSite(rawValue: String($0)) }.first
    isUTF8 = !notes.contains("latin1")
  }

  var foundationCookie: HTTPCookie? {
    var notes = ["created", "\(created)"]
    if let sameSite { notes.append(sameSite.rawValue) }
    if isSecure { notes.append("secure") }
    if !isUTF8 { notes.append("latin1") }
    var properties: [HTTPCookiePropertyKey: Any] = [
      .name: name, .value: value, .path: path, .domain: domain, Self.comment: notes.joined(separator: " "),
    ]
    if isSecure { properties[.secure] = "TRUE" }
    if isHTTPOnly { properties[.init(rawValue: "HttpOnly")] = "TRUE" }
    properties[.expires] = expires
    return HTTPCookie(properties: properties)
  }
}
