import Foundation

/// A challenge of a server (RFC 9110 §11.3): a scheme and its parameters.
struct AuthenticationChallenge: Equatable {
  /// The scheme in lower case.
  let scheme: String
  /// The parameters, with names in lower case.
  private(set) var parameters: [String: String] = [:]
  /// Whether a parameter is repeated, so that it is unknown which one is meant.
  private(set) var isAmbiguous = false

  /// A server may offer several schemes, and no more than a few make sense.
  private static let maximumCount = 16

  /// Returns the challenges of a `WWW-Authenticate` field (§11.6.1). Its commas separate challenges as well as their parameters.
  static func all(in field: String) -> [AuthenticationChallenge] {
    var challenges: [AuthenticationChallenge] = []
    for member in FieldList.members(field) {
      let name = member.prefix { $0 != " " && $0 != "\t" && $0 != "=" }
      guard HeaderSyntax.isToken(String(name)) else { continue }
      let rest = member.dropFirst(name.count).trimmingBlanks()
      if rest.first == "=", !challenges.isEmpty {
        challenges[challenges.count - 1].add(name, rest.dropFirst())
        continue
      }
      guard challenges.count < maximumCount else { break }
      challenges.append(AuthenticationChallenge(scheme: name.lowercased()))
      // What is no parameter is a token68, which none of the schemes here has.
      guard let equals = rest.firstIndex(of: "=") else { continue }
      challenges[challenges.count - 1].add(rest[..<equals], rest[rest.index(after: equals)...])
    }
    return challenges
  }

  private mutating func add(_ name: Substring, _ value: Substring) {
    let name = name.trimmingBlanks().lowercased()
    let value = value.trimmingBlanks().unquoted()
    if parameters.updateValue(value, forKey: name) != nil { isAmbiguous = true }
  }
}

/// The challenge of a server that asks for Digest (RFC 7616 §3.3), and the credentials that respond to it.
struct DigestChallenge: Equatable, Sendable {
  enum Algorithm: Int, Sendable {
    case md5
    case sha256

    func hash(_ text: String) -> String {
      let bytes = ObsoleteText.bytes(text) ?? Array(text.utf8)
      return switch self {
      case .md5: MD5.hexadecimal(bytes)
      case .sha256: SHA256.hexadecimal(bytes)
      }
    }
  }

  private static let maximumSize = 8192
  private static let maximumDomainSize = 2048

  let realm: String
  private(set) var nonce: String
  /// The nonce with which the server asked.
  private let firstNonce: String
  let algorithm: Algorithm
  /// The name of the algorithm as the server wrote it; `nil` if it named none.
  private let algorithmName: String?
  /// Whether the key is bound to the first nonce ("-sess").
  let isSession: Bool
  private let opaque: String?
  /// Whether the server knows the protection `auth`, and counts the uses of its nonce; if not, it follows RFC 2069.
  private let hasQuality: Bool
  private let hashesUser: Bool
  /// Whether the realm is not UTF-8, and the server does not say that the user and the password are (§4): they have the
  /// encoding of the realm then.
  private let isLatin1: Bool
  /// Whether only the nonce was too old (§3.3).
  let isStale: Bool
  /// The URIs of the protection space (§3.3), separated by blanks; empty for all of the server.
  private let domain: String

  /// Returns `nil` for what is not Digest, lacks what it needs, or asks for what is not supported: another algorithm, or
  /// `auth-int` alone.
  init?(_ challenge: AuthenticationChallenge) {
    let parameters = challenge.parameters
    guard challenge.scheme == "digest", !challenge.isAmbiguous, let realm = parameters["realm"],
      let nonce = parameters["nonce"]
    else { return nil }
    var name = parameters["algorithm"]?.lowercased() ?? "md5"
    isSession = name.hasSuffix("-sess")
    if isSession { name.removeLast("-sess".count) }
    switch name {
    case "md5": algorithm = .md5
    case "sha-256": algorithm = .sha256
    default: return nil
    }
    let qualities = parameters["qop"].map { FieldList.members($0).map { $0.lowercased() } }
    guard qualities?.contains("auth") != false, !isSession || qualities != nil else { return nil }
    hasQuality = qualities != nil
    algorithmName = parameters["algorithm"]
    opaque = parameters["opaque"]
    hashesUser = parameters["userhash"]?.lowercased() == "true"
    isStale = parameters["stale"]?.lowercased() == "true"
    domain = parameters["domain"].flatMap { $0.utf8.count <= Self.maximumDomainSize ? $0 : nil } ?? ""
    isLatin1 = ObsoleteText.isCarried(in: realm) && parameters["charset"]?.lowercased() != "utf-8"
    self.realm = realm
    self.nonce = nonce
    firstNonce = nonce
    guard !isTooLarge else { return nil }
  }

  /// It is remembered, and sent with every request.
  private var isTooLarge: Bool {
    realm.utf8.count + nonce.utf8.count + (opaque?.utf8.count ?? 0) > Self.maximumSize
  }

  /// Returns the best one of those that a server offers (§3.7); `nil` if there is none.
  static func best(of challenges: [AuthenticationChallenge]) -> DigestChallenge? {
    challenges.compactMap(DigestChallenge.init).max { $0.algorithm.rawValue < $1.algorithm.rawValue }
  }

  /// Whether the protection space is all of the server (§3.3).
  var coversOrigin: Bool { domain.allSatisfy { $0 == " " } }

  /// Returns how the paths of the protection space begin that the server names (§3.3). Those at other origins do not count:
  /// the password is for one.
  func paths(at origin: Origin) -> [String] {
    domain.split(separator: " ").compactMap { uri in
      if uri.hasPrefix("/"), !uri.hasPrefix("//") { return String(uri) }
      guard let url = URL(string: String(uri)), Origin(url) == origin else { return nil }
      return url.pathOrRoot
    }
  }

  /// Returns the same challenge with the nonce that the server expects next (§3.5); `nil` if it is the same, or cannot be sent.
  func followed(by nonce: String) -> DigestChallenge? {
    guard nonce != self.nonce, !nonce.isEmpty, HeaderSyntax.trimmedValue(nonce) == nonce else { return nil }
    var next = self
    next.nonce = nonce
    return next.isTooLarge ? nil : next
  }

  /// Returns the value of `Authorization` (§3.4).
  ///
  /// - Parameters:
  ///   - count: How often the nonce has been used, with this time.
  ///   - clientNonce: A text that nobody can foresee.
  ///   - target: The target of the request, as it is sent.
  func authorization(
    as credential: PasswordCredential, method: String, target: String, count: UInt32, clientNonce: String
  ) -> String {
    let hash = algorithm.hash
    var key = hash("\(encoded(credential.user)):\(realm):\(encoded(credential.password))")
    // §3.4.2: made once, with the nonces of the first request.
    if isSession { key = hash("\(key):\(firstNonce):\(clientNonce)") }
    let number = count.text(digits: 8, radix: 16)
    let use = hasQuality ? "\(nonce):\(number):\(clientNonce):auth" : nonce
    let response = hash("\(key):\(use):\(hash("\(method):\(target)"))")

    var parts = [user(encoded(credential.user)), "realm=\(Self.quoted(realm))", "nonce=\(Self.quoted(nonce))"]
    parts += ["uri=\(Self.quoted(target))", "response=\"\(response)\""]
    if let algorithmName { parts.append("algorithm=\(algorithmName)") }
    if let opaque { parts.append("opaque=\(Self.quoted(opaque))") }
    if hasQuality { parts += ["qop=auth", "nc=\(number)", "cnonce=\"\(clientNonce)\""] }
    if hashesUser { parts.append("userhash=true") }
    return "Digest " + parts.joined(separator: ", ")
  }

  /// §3.4.4: the hash of the user, if the server asks for it, and an encoded one for what is not ASCII.
  private func user(_ user: String) -> String {
    if hashesUser { return "username=\"\(algorithm.hash("\(user):\(realm)"))\"" }
    let bytes = ObsoleteText.bytes(user) ?? Array(user.utf8)
    if bytes.allSatisfy({ (0x20..<0x7F).contains($0) || isLatin1 && $0 >= 0x80 }) {
      return "username=\(Self.quoted(user))"
    }
    return "username*=UTF-8''" + PercentEncoding.encoded(user, allowed: PercentEncoding.unreserved)
  }

  private func encoded(_ text: String) -> String {
    guard isLatin1 else { return text }
    let scalars = text.precomposedStringWithCanonicalMapping.unicodeScalars
    return scalars.allSatisfy { $0.value <= 0xFF } ? ObsoleteText.carried(scalars) : text
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }
}

extension URL {
  /// The path as it is sent (RFC 9112 §3.2.1).
  var pathOrRoot: String {
    let path = path(percentEncoded: true)
    return path.isEmpty ? "/" : path
  }
}
