import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What a session says of how requests are made, read once. A class, because every hop of every request refers to it.
final class SessionSettings: Sendable {
  let requestTimeout: TimeInterval
  let resourceTimeout: Duration?
  let additionalHeaders: [(name: String, value: String)]
  let connectionsPerHost: Int
  let cookies: SessionCookies
  /// `nil` leaves the choice to the system: on Linux to the environment.
  let proxies: SessionProxies?
  /// Whether the cookies are sent and kept by the system, and ``cookies`` only says which they are.
  let systemSendsCookies: Bool
  /// What the session is known by where its code decides who asks: see ``SessionOwners``.
  let owner: String?
  /// Names the certificate by which the session is known to servers.
  let clientCertificate: String?

  init(
    _ configuration: URLSessionConfiguration, systemSendsCookies: Bool = false, clientCertificate: String? = nil
  ) {
    requestTimeout = configuration.timeoutIntervalForRequest
    resourceTimeout = configuration.resourceTimeout
    connectionsPerHost = min(max(1, configuration.httpMaximumConnectionsPerHost), 10_000)
    additionalHeaders = (configuration.httpAdditionalHeaders ?? [:])
      .map { (name: "\($0.key)", value: "\($0.value)") }
      .sorted { $0.name < $1.name }
    cookies = SessionCookies(configuration: configuration)
    proxies = configuration.connectionProxyDictionary.map(SessionProxies.init)
    self.systemSendsCookies = systemSendsCookies
    owner = nil
    self.clientCertificate = clientCertificate
  }

  /// A session of which nothing is known but its cookies.
  init(cookies: SessionCookies, owner: String? = nil) {
    requestTimeout = 60
    resourceTimeout = nil
    connectionsPerHost = 1
    additionalHeaders = []
    proxies = nil
    systemSendsCookies = false
    clientCertificate = nil
    self.cookies = cookies
    self.owner = owner
  }

  /// The same session in the hands of another owner.
  init(_ other: SessionSettings, owner: String) {
    requestTimeout = other.requestTimeout
    resourceTimeout = other.resourceTimeout
    additionalHeaders = other.additionalHeaders
    connectionsPerHost = other.connectionsPerHost
    cookies = other.cookies
    proxies = other.proxies
    systemSendsCookies = other.systemSendsCookies
    clientCertificate = other.clientCertificate
    self.owner = owner
  }

  /// Whether the session adds a field of this name, which is in lower case.
  func adds(_ name: String) -> Bool { additionalHeaders.contains { $0.name.lowercased() == name } }

  /// The session of a transport that stands for one of the user's own making.
  static func opaque() -> SessionSettings {
    SessionSettings(cookies: SessionCookies(storage: nil), owner: UUID().uuidString)
  }
}
