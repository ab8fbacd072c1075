import Foundation

/// How the servers that a session has met ask for passwords (RFC 9110 §11.6): which credentials are sent before they ask, and
/// which after they have.
///
/// A value: its owner has a lock, under which nothing is hashed. A password is never sent in the clear to a server that has
/// asked for Digest, whatever a response in its name asks for later. A challenge that is not supported is passed over, as in
/// browsers (RFC 7616 §3.7): somebody on the way who wants the password could remove it as well.
struct PasswordAuthenticator {
  /// Whose password, and for whom. It is sent to no one else.
  struct Key: Hashable {
    let credential: PasswordCredential
    let origin: Origin
    /// Whom the connection trusts: ``ConnectionIdentity/trust``.
    let trust: String?
  }

  /// How to prove that one knows the password.
  enum Scheme: Equatable, Sendable {
    case basic
    case digest(DigestUse)

    /// Returns the value of the `Authorization` field (RFC 9110 §11.6.2).
    ///
    /// - Parameters:
    ///   - target: The target as it is sent.
    ///   - clientNonce: A text that nobody can foresee.
    func authorization(
      as credential: PasswordCredential, method: String, target: String, clientNonce: String
    ) -> String {
      guard case .digest(let use) = self else { return credential.basicAuthorization }
      return use.challenge.authorization(
        as: credential, method: method, target: target, count: use.count,
        // The key of a session is made once, with the client's first nonce (RFC 7616 §3.4.2).
        clientNonce: use.challenge.isSession ? use.sessionNonce : clientNonce)
    }
  }

  /// One use of a server's nonce.
  struct DigestUse: Equatable, Sendable {
    var challenge: DigestChallenge
    /// The client's nonce when the server asked.
    let sessionNonce: String
    /// How often the server's nonce has been used, with this time.
    var count: UInt32
    /// Whether the server has accepted the password with this nonce.
    var isAccepted = false
  }

  /// How many passwords are remembered.
  private static let capacity = 256
  /// How many protection spaces are remembered for each, and how many paths for each of them.
  private static let maximumSpaces = 8
  private static let maximumPaths = 16
  /// How many servers are remembered to have asked for Digest: at least as many as there are passwords.
  private static let serverCapacity = 4096
  /// How often one request may be sent again: a nonce may be too old once.
  static let maximumRetryCount = 2

  /// A server, with whom its connection trusts.
  private struct Server: Hashable {
    let origin: Origin
    let trust: String?

    init(_ key: Key) {
      origin = key.origin
      trust = key.trust
    }
  }

  /// A protection space: the realm of the challenge at the origin of the key (RFC 7616 §3.3).
  private struct Space {
    var use: DigestUse
    /// How the paths of its requests begin: those that the server has named, and those where it has asked.
    var paths: [String]

    /// Returns how much of a path is known to belong to the space; `nil` if the path does not belong to it.
    func reach(of path: String) -> Int? {
      let reach = paths.lazy.filter { path.hasPrefix($0) }.map(\.utf8.count).max()
      return reach ?? (use.challenge.coversOrigin ? 0 : nil)
    }
  }

  /// The spaces in which a password was asked for, the last at the end. A nonce and a key belong to one of them.
  private var spaces: [Key: [Space]] = [:]
  /// The keys, the oldest first.
  private var order: [Key] = []
  /// The servers that have asked for Digest, for whichever password. In a memory of their own: many users of one server
  /// must not make it forgotten. What is forgotten may be sent in the clear, so it is the server that has not asked for longest.
  private var digestServers: [Server: UInt64] = [:]
  private var lastChallenge: UInt64 = 0

  /// Returns what to send before the server asks. A password that it has not accepted is only sent when asked for: servers
  /// count the failures.
  ///
  /// - Parameters:
  ///   - path: The path of the request.
  ///   - unasked: What to send to a server that has not asked for Digest before.
  mutating func scheme(for key: Key, at path: String, unasked: Scheme? = nil) -> Scheme? {
    guard let known = spaces[key] else { return digestServers[Server(key)] == nil ? unasked : nil }
    var best: (use: DigestUse, reach: Int)?
    for space in known {
      guard let reach = space.reach(of: path), reach >= best?.reach ?? 0 else { continue }
      best = (space.use, reach)
    }
    guard let use = best?.use, use.isAccepted else { return nil }
    return next(use, for: key)
  }

  /// Records that the server has accepted the password, and which nonce it expects next (RFC 7616 §3.5); `nil` for the same.
  mutating func accepted(_ use: DigestUse, nextNonce: String? = nil, for key: Key) {
    guard let index = index(of: use.challenge.realm, for: key), var known = spaces[key]?[index].use,
      known.challenge.nonce == use.challenge.nonce
    else { return }
    known.isAccepted = true
    if let next = nextNonce.flatMap({ known.challenge.followed(by: $0) }) { (known.challenge, known.count) = (next, 0) }
    spaces[key]?[index].use = known
  }

  /// Returns what to send after the challenges of a 401; `nil` if the password was not accepted, or must not be sent.
  ///
  /// - Parameters:
  ///   - path: The path of the request.
  ///   - sent: What the request was sent with; `nil` if nothing.
  ///   - retryCount: How often it was sent again for a challenge.
  mutating func scheme(
    after challenges: [AuthenticationChallenge], for key: Key, at path: String, sent: Scheme?, retryCount: Int,
    clientNonce: String
  ) -> Scheme? {
    let best = DigestChallenge.best(of: challenges)
    if best != nil { noteDigest(Server(key)) }
    guard retryCount < Self.maximumRetryCount else { return nil }
    guard let challenge = best else {
      let offersBasic = challenges.contains { $0.scheme == "basic" && $0.parameters["realm"] != nil }
      return offersBasic && digestServers[Server(key)] == nil && sent == nil ? .basic : nil
    }
    let index = index(of: challenge.realm, for: key)
    let known = index.flatMap { spaces[key]?[$0].use }
    var usedNonce: String?
    // What was sent for another realm says nothing about the password for this one.
    if case .digest(let use)? = sent, use.challenge.realm == challenge.realm { usedNonce = use.challenge.nonce }
    // §3.3: another nonce, without a word about the last one, means that the password is wrong, unless it was accepted with
    // that nonce in an earlier request.
    guard challenge.isStale || challenge.nonce != usedNonce && retryCount == 0 else {
      if let index, known?.challenge.nonce == usedNonce { spaces[key]?[index].use.isAccepted = false }
      return nil
    }
    var use = DigestUse(challenge: challenge, sessionNonce: clientNonce, count: 0)
    // Several requests may be asked at once with the same nonce, of which each use has a number of its own.
    if let known, known.challenge.nonce == challenge.nonce {
      use = DigestUse(
        challenge: challenge, sessionNonce: known.sessionNonce, count: known.count, isAccepted: known.isAccepted)
    }
    noteSpace(of: use, for: key, askedAt: path)
    return next(use, for: key)
  }

  /// Returns what to send with the same request once more.
  mutating func scheme(after sent: DigestUse, for key: Key) -> Scheme? {
    let index = index(of: sent.challenge.realm, for: key)
    return next(index.flatMap { spaces[key]?[$0].use } ?? sent, for: key)
  }

  private func index(of realm: String, for key: Key) -> Int? {
    spaces[key]?.firstIndex { $0.use.challenge.realm == realm }
  }

  private mutating func noteSpace(of use: DigestUse, for key: Key, askedAt path: String) {
    if spaces[key] == nil {
      order.append(key)
      if order.count > Self.capacity { spaces[order.removeFirst()] = nil }
    }
    var known = spaces[key] ?? []
    var asked = index(of: use.challenge.realm, for: key).map { known.remove(at: $0).paths } ?? []
    // As for Basic (RFC 7617 §2.2): what is beside the path, and below, is likely to belong to the same space.
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "/"
    for path in use.challenge.paths(at: key.origin) + [folder] where !asked.contains(path) { asked.append(path) }
    known.append(Space(use: use, paths: asked.suffix(Self.maximumPaths)))
    spaces[key] = known.suffix(Self.maximumSpaces)
  }

  private mutating func noteDigest(_ server: Server) {
    lastChallenge += 1
    digestServers[server] = lastChallenge
    guard digestServers.count > Self.serverCapacity, let oldest = digestServers.min(by: { $0.value < $1.value }) else {
      return
    }
    digestServers[oldest.key] = nil
  }

  private mutating func next(_ last: DigestUse, for key: Key) -> Scheme? {
    var use = last
    // No number is used twice with a nonce.
    guard use.count < .max else { return nil }
    use.count += 1
    if let index = index(of: use.challenge.realm, for: key) { spaces[key]?[index].use = use }
    return .digest(use)
  }
}

/// A user and a password, with which a request responds to a server that asks for them: see ``NetworkRequest/credential``.
public struct PasswordCredential: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  // In a class: every exchange has room for one, and few have one.
  private final class Storage: Sendable, Hashable {
    let user: String
    let password: String

    init(user: String, password: String) {
      self.user = user
      self.password = password
    }

    static func == (one: Storage, other: Storage) -> Bool {
      one.user == other.user && one.password == other.password
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(user)
      hasher.combine(password)
    }
  }

  private let storage: Storage

  /// The user.
  public var user: String { storage.user }
  /// The password.
  public var password: String { storage.password }

  /// Creates a credential.
  public init(user: String, password: String) { storage = Storage(user: user, password: password) }

  /// A text with the user, and without the password.
  public var description: String { "PasswordCredential(user: \(user))" }
  /// The same as ``description``.
  public var debugDescription: String { description }
  /// A mirror without the password.
  public var customMirror: Mirror { Mirror(self, children: ["user": user]) }
}

extension PasswordCredential {
  /// The value of an `Authorization` field for the Basic scheme (RFC 7617 §2).
  var basicAuthorization: String { "Basic " + Data("\(user):\(password)".utf8).base64EncodedString() }
}

extension URL {
  /// The credential in the URL; `nil` if there is none.
  ///
  /// - Throws: `URLError.badURL` if it is not UTF-8: without what cannot be decoded it would be another one.
  var credential: PasswordCredential? {
    get throws {
      guard let user = user(percentEncoded: true) else { return nil }
      let password = password(percentEncoded: true) ?? ""
      guard let user = user.removingPercentEncoding, let password = password.removingPercentEncoding else {
        throw URLError(.badURL, url: self, description: "The user or the password in the URL is not UTF-8")
      }
      return user.isEmpty && password.isEmpty ? nil : PasswordCredential(user: user, password: password)
    }
  }
}
