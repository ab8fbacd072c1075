import Foundation

/// The properties of a session that its connections reveal to servers, or rely on, at one moment. Connections are shared
/// only by requests for which it is the same: a session that trusts other authorities must not inherit them, a server
/// that has seen a client certificate takes every request on that connection for one of its owner, and a tunnel through
/// a proxy belongs to those who have its credentials.
///
/// It is made by ``Source`` only, so that no part of it can be left out. A class, because every hop refers to it.
final class ConnectionIdentity: Hashable, Sendable {
  /// The options as they apply to the hop.
  let options: ConnectionOptions
  /// The proxies; `nil` means those of the environment.
  let proxies: SessionProxies?
  /// An identifier of the client certificate; `nil` if there is none.
  let certificate: String?
  /// A digest of the authorities and the keys that are trusted, of the oldest version of TLS, of the socket and the
  /// addresses that stand for hosts, and of what else decides which server a host is: the proxies, the interface, and
  /// the server that looks up names. `nil` for the system's authorities, any key, its own versions, and the hosts as the
  /// system finds them.
  let trust: String?
  /// The files in ``tls``, and their versions.
  private let paths: [String]
  private let files: [FileStamp?]

  /// Where its connections lead.
  let route: ConnectionRoute
  private let hash: Int

  /// The TLS options as they apply to the hop; `nil` for the system's defaults.
  var tls: TLSOptions? { options.tls }

  private convenience init(_ options: ConnectionOptions, _ proxies: SessionProxies?, _ files: [FileStamp?]) {
    self.init(options, proxies, files, trust: options.trustDigest(proxies))
  }

  private init(_ options: ConnectionOptions, _ proxies: SessionProxies?, _ files: [FileStamp?], trust: String?) {
    var hasher = Hasher()
    hasher.combine(options)
    hasher.combine(proxies)
    hasher.combine(files)
    hash = hasher.finalize()
    route = options.route
    self.options = options
    self.proxies = proxies
    self.files = files
    paths = options.tls?.paths ?? []
    certificate = options.tls?.clientCertificate.map { certificate in
      let paths = [certificate.certificateFile, certificate.keyFile].map(\.absoluteString)
      return zip(paths, files.suffix(2)).map { "\($0) \($1?.text ?? "")" }.joined(separator: " ")
    }
    self.trust = trust
  }

  static func == (one: ConnectionIdentity, other: ConnectionIdentity) -> Bool {
    one === other
      || (one.hash == other.hash && one.options == other.options && one.proxies == other.proxies
        && one.files == other.files)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(hash) }

  #if os(Linux)
    /// The identity with the proxies that are chosen for an origin: what was opened through others is not for it.
    func choosingProxies(for origin: Origin, isSecure: Bool) throws -> ConnectionIdentity {
      guard proxies?.chooser != nil else { return self }
      let host = HostSyntax.unbracketed(origin.host)
      guard !route.isDirect(to: host) else { return self }
      let chosen = try proxies.chosen(forHost: host, port: origin.port, isSecure: isSecure)
      return ConnectionIdentity(options, chosen, files, trust: trust)
    }
  #endif

  /// The identity of connections to a socket, which stands for every host.
  fileprivate func connecting(to socketPath: String) -> ConnectionIdentity {
    var options = options
    options.socketPath = socketPath
    return ConnectionIdentity(options, proxies, files)
  }

  /// The maker of the identities of one session.
  final class Source: Sendable {
    private struct Latest {
      var own: ConnectionIdentity
      var foreign: ConnectionIdentity
    }

    private let version: @Sendable (String) -> FileStamp?
    private let latest: Locked<Latest>
    /// The last one for a socket, and the one that it was made from.
    private let latestSocket = Locked<(base: ConnectionIdentity, identity: ConnectionIdentity)?>(nil)

    /// - Parameter version: Returns the version of the file at a path; `nil` if there is no such file.
    init(
      _ options: ConnectionOptions, proxies: SessionProxies?,
      version: @escaping @Sendable (String) -> FileStamp? = { FileStamp(path: $0) }
    ) {
      func identity(_ tls: TLSOptions?) -> ConnectionIdentity {
        var options = options
        options.tls = tls.flatMap { $0 == TLSOptions() ? nil : $0 }
        return ConnectionIdentity(options, proxies, options.tls?.paths.map(version) ?? [])
      }
      var foreign = options.tls
      // A certificate is a credential, which belongs to an origin like all others (RFC 9110 §15.4).
      foreign?.clientCertificate = nil
      self.version = version
      latest = Locked(Latest(own: identity(options.tls), foreign: identity(foreign)))
    }

    /// Returns the identity at this moment: it changes when a file of authorities, a certificate or a key is replaced.
    ///
    /// - Parameters:
    ///   - hasLeftOrigin: Whether the hop is to another origin than that of the session's credentials.
    ///   - socketPath: The socket that the URL of the hop names, if any, instead of that of the options.
    func current(hasLeftOrigin: Bool, socketPath: String? = nil) -> ConnectionIdentity {
      let current = current(hasLeftOrigin: hasLeftOrigin)
      guard let socketPath else { return current }
      if let last = latestSocket.withLock({ $0 }), last.base === current, last.identity.options.socketPath == socketPath
      {
        return last.identity
      }
      let identity = current.connecting(to: socketPath)
      latestSocket.withLock { $0 = (current, identity) }
      return identity
    }

    private func current(hasLeftOrigin: Bool) -> ConnectionIdentity {
      let kept = latest.withLock { hasLeftOrigin ? $0.foreign : $0.own }
      guard !kept.paths.isEmpty else { return kept }
      let files = kept.paths.map(version)
      if files == kept.files { return kept }
      let renewed = ConnectionIdentity(kept.options, kept.proxies, files)
      latest.withLock { latest in
        if hasLeftOrigin { latest.foreign = renewed } else { latest.own = renewed }
      }
      return renewed
    }
  }
}

extension TLSOptions {
  /// The files with the trusted authorities and the client's identity, which comes last.
  fileprivate var paths: [String] {
    [certificateAuthorityFile, clientCertificate?.certificateFile, clientCertificate?.keyFile].compactMap { $0?.path }
  }
}

extension ConnectionOptions {
  /// A digest of the authorities, by content, of the keys, of the oldest version of TLS, of the addresses, and of the
  /// socket or what else decides which server a host is; `nil` if there is none of them.
  fileprivate func trustDigest(_ proxies: SessionProxies?) -> String? {
    let keys = tls?.pinnedPublicKeys ?? []
    let minimum = tls?.minimumVersion.map { " \($0)" }
    let route = route
    // A proxy or an interface may lead to a network in which a name, or a private address, is another server's.
    let way = socketPath == nil ? Self.wayDigest(route, proxies) : nil
    guard
      tls?.certificateAuthorityFile != nil || !keys.isEmpty || minimum != nil || socketPath != nil
        || !route.addresses.isEmpty || way != nil
    else { return nil }
    let addresses = route.addresses.map { "\($0) \($1.joined(separator: " "))" }
    let authorities = tls?.certificateAuthorityFile.map { file in
      (try? Data(contentsOf: file)).map { SHA256.hexadecimal(Array($0)) } ?? file.absoluteString
    }
    // Neither Base64 nor an encoded URL contains a blank or a line break, and all else but the socket's path no line break.
    let end = socketPath.map { ["", $0] } ?? way.map { [" \($0)"] } ?? []
    let text = ([(authorities ?? "") + (minimum ?? "")] + keys.sorted() + addresses.sorted() + end)
      .joined(separator: "\n")
    return String(SHA256.hexadecimal(Array(text.utf8)).prefix(32))
  }

  /// A digest of the proxies, of the interface, and of the server that looks up names; `nil` if there is none of them.
  ///
  /// The proxies of the environment do not count, nor those that code chooses for each request: what is kept could not
  /// be found again. Nor does a password: it does not lead elsewhere, and the digest is written to files.
  private static func wayDigest(_ route: ConnectionRoute, _ proxies: SessionProxies?) -> String? {
    var parts: [String?] = [nil, nil, nil, nil]
    if let proxies, proxies.plain != nil || proxies.secure != nil {
      parts = [proxies.plain, proxies.secure, proxies.exceptions, proxies.user]
    }
    parts += [route.interface, route.dnsOverHTTPS?.absoluteString]
    guard parts.contains(where: { $0 != nil }) else { return nil }
    // With their lengths: a dictionary of proxies may contain any character.
    let text = parts.map { part in part.map { "\($0.utf8.count):\($0)" } ?? "-" }.joined(separator: " ")
    return SHA256.hexadecimal(Array(text.utf8))
  }
}
