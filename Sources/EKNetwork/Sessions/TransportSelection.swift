import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Selects the implementation that sends the requests of a session.
enum TransportSelection {
  /// Returns the transport of an injected session.
  static func transport(for session: any URLSessionProtocol, choice: TransportChoice = .automatic) -> any Transport {
    guard let session = session as? URLSession else { return SessionTransport(session) }
    return transport(for: session, choice: choice)
  }

  /// Returns the transport of an injected streaming session.
  static func transport(
    for session: any URLSessionStreamingProtocol, choice: TransportChoice = .automatic
  ) -> any Transport {
    guard let session = session as? URLSession else { return StreamingSessionTransport(session) }
    return transport(for: session, choice: choice)
  }

  /// Returns the transport of a `URLSession`: on Linux the library's own, unless the session was customised with code that must
  /// handle the requests; everywhere else the session.
  static func transport(for session: URLSession, choice: TransportChoice = .automatic) -> any Transport {
    if let problem = choice.connectionOptions?.tls?.problem {
      return UnavailableTransport(problem, route: choice.connectionOptions?.route)
    }
    #if os(Linux)
      if let options = choice.connectionOptions {
        if let problem = options.route.problem { return UnavailableTransport(problem, route: options.route) }
        return HTTPTransport(configuration: session.configuration, options: options, session: session)
          ?? UnavailableTransport(
            options.tls == nil ? .resourceUnavailable : .secureConnectionFailed,
            "Connection options need libcurl. \(TransportDescription.current.reason ?? "")",
            route: options.route)
      }
      if choice == .automatic, !isCustomised(session),
        let transport = HTTPTransport(configuration: session.configuration, session: session)
      {
        return transport
      }
    #elseif canImport(Darwin)
      if let options = choice.connectionOptions, options != ConnectionOptions(tls: options.tls) {
        return UnavailableTransport(
          .resourceUnavailable,
          """
          URLSession chooses the version of HTTP and the interface itself, connects to hosts only, has no limit for \
          connecting, takes proxies from its configuration, and looks up names as the system does.
          """,
          route: options.route)
      }
      if let options = choice.connectionOptions?.tls {
        // A private key in a file is not an identity: the system keeps those in a keychain.
        guard options.clientCertificate == nil else {
          return UnavailableTransport(
            .clientCertificateRejected,
            "A client certificate must be presented by the session's delegate, not by TLSOptions.")
        }
        // A second session with the same identifier may receive the callbacks of the first.
        guard session.configuration.identifier == nil else {
          return UnavailableTransport(.resourceUnavailable, "TLSOptions cannot be used with a background session.")
        }
        return URLSessionTransport(session, host: .shared(for: session, options), trust: .options(options))
      }
    #endif
    return URLSessionTransport(session)
  }

  #if os(Linux)
    private static func isCustomised(_ session: URLSession) -> Bool {
      if session.delegate != nil || type(of: session) != URLSession.self { return true }
      // A configuration starts with FoundationNetworking's own classes; `URLSession.shared` has none at all.
      return (session.configuration.protocolClasses ?? []).contains {
        !String(reflecting: $0).hasPrefix("FoundationNetworking.")
      }
    }
  #endif
}
