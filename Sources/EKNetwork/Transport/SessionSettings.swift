import Foundation

/// The settings of a session that affect its requests, read once. A class, because every hop of every request refers to
/// it.
final class SessionSettings: Sendable {
  let requestTimeout: TimeInterval
  let resourceTimeout: Duration?
  let additionalHeaders: [(name: String, lowercased: String, value: String)]
  let connectionsPerHost: Int
  let cookies: SessionCookies
  /// The proxies to use; `nil` leaves the choice to the system, which on Linux is the environment.
  let proxies: SessionProxies?
  /// Whether the system sends and stores the cookies; ``cookies`` then only describes them.
  let systemSendsCookies: Bool
  /// The name of the session, if its code may determine who the user is: see ``SessionRecord/name``.
  let owner: String?
  /// Which session these are the settings of. No other session of the process has the same number.
  let number: Int
  let authenticator: Locked<PasswordAuthenticator>
  private let connections: ConnectionIdentity.Source

  private static let sessions = Locked(0)
  private static func nextNumber() -> Int {
    sessions.withLock {
      $0 += 1
      return $0
    }
  }

  /// - Parameter session: The session, whose transports share what is known about passwords; `nil` for one with a single
  ///   transport.
  init(
    _ configuration: URLSessionConfiguration, systemSendsCookies: Bool = false,
    options: ConnectionOptions = ConnectionOptions(), session: AnyObject? = nil,
    fileVersion: @escaping @Sendable (String) -> FileStamp? = { FileStamp(path: $0) }
  ) {
    requestTimeout = configuration.timeoutIntervalForRequest
    resourceTimeout = Duration(timeInterval: configuration.timeoutIntervalForResource)
    connectionsPerHost = min(max(1, configuration.httpMaximumConnectionsPerHost), 10_000)
    additionalHeaders = (configuration.httpAdditionalHeaders ?? [:])
      .map { (name: "\($0.key)", lowercased: "\($0.key)".lowercased(), value: "\($0.value)") }
      .sorted { $0.name < $1.name }
    cookies = SessionCookies(configuration: configuration)
    proxies = options.proxy.proxies(
      configured: configuration.connectionProxyDictionary.map { SessionProxies($0) })
    self.systemSendsCookies = systemSendsCookies
    owner = nil
    number = Self.nextNumber()
    authenticator = session.map { SessionRecord.of($0).authenticator } ?? Locked(PasswordAuthenticator())
    connections = ConnectionIdentity.Source(options, proxies: proxies, version: fileVersion)
  }

  /// Creates the settings of a session of which only the cookies are known.
  init(cookies: SessionCookies, owner: String? = nil, session: AnyObject? = nil) {
    requestTimeout = 60
    resourceTimeout = nil
    connectionsPerHost = 1
    additionalHeaders = []
    proxies = nil
    systemSendsCookies = false
    number = Self.nextNumber()
    authenticator = session.map { SessionRecord.of($0).authenticator } ?? Locked(PasswordAuthenticator())
    connections = ConnectionIdentity.Source(ConnectionOptions(), proxies: nil)
    self.cookies = cookies
    self.owner = owner
  }

  init(_ other: SessionSettings, owner: String) {
    requestTimeout = other.requestTimeout
    resourceTimeout = other.resourceTimeout
    additionalHeaders = other.additionalHeaders
    connectionsPerHost = other.connectionsPerHost
    cookies = other.cookies
    proxies = other.proxies
    systemSendsCookies = other.systemSendsCookies
    number = other.number
    authenticator = other.authenticator
    connections = other.connections
    self.owner = owner
  }

  /// Returns what the session's connections present and trust at this moment: files may be replaced.
  ///
  /// - Parameters:
  ///   - url: The URL of the hop, which may name a socket; `nil` for what all hops have in common.
  ///   - hasLeftOrigin: Whether the hop is to another origin than that of the session's credentials.
  func connection(to url: URL?, hasLeftOrigin: Bool) -> ConnectionIdentity {
    connections.current(hasLeftOrigin: hasLeftOrigin, socketPath: url?.socketPath)
  }

  /// Returns whether the session adds a field of this name, which is in lower case.
  func adds(_ name: String) -> Bool { additionalHeaders.contains { $0.lowercased == name } }

  /// Returns the settings for a transport that wraps a user-defined session.
  ///
  /// - Parameter session: The session, if it is an object: only that is the same session in two transports.
  static func opaque(of session: AnyObject? = nil) -> SessionSettings {
    SessionSettings(cookies: SessionCookies(storage: nil), owner: UUID().uuidString, session: session)
  }
}

/// What belongs to a session and is kept as long as it lives: the session cannot store it itself.
final class SessionRecord: Sendable {
  static let all = SessionRegistry<SessionRecord>()

  /// The name of a session that may tell users apart by code, which cannot be inspected: a delegate that answers
  /// challenges. It is never used again, not even by another process, so whatever is stored under it belongs to that
  /// session alone.
  let name = UUID().uuidString
  /// What the session knows about passwords. A server that has asked one transport of it for Digest is not sent the
  /// password in the clear by another one, such as that of streams.
  let authenticator = Locked(PasswordAuthenticator())
  private let hosts = Locked<[TLSOptions?: SessionHost]>([:])

  static func of(_ session: AnyObject) -> SessionRecord { all.value(for: session) { SessionRecord() } }

  /// Returns the host with these options. One for each request would cost a new connection each time.
  func host(_ tls: TLSOptions? = nil, make: () -> SessionHost) -> SessionHost {
    if let host = hosts.withLock({ $0[tls] }) { return host }
    let made = make()
    return hosts.withLock { hosts in
      if let host = hosts[tls] { return host }
      hosts[tls] = made
      return made
    }
  }
}
