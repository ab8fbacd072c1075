#if os(Linux)
  import CCurl
  import Foundation

  /// The options of an easy handle. It records the first required option that was refused.
  struct CurlSettings {
    private let easy: OpaquePointer
    private(set) var refused: CurlOption?

    init(_ easy: OpaquePointer) { self.easy = easy }

    mutating func set(_ option: CurlOption, _ value: Int) {
      note(option, ekn_easy_set_long(easy, option.rawValue, value))
    }

    /// Sets a string option; `nil` changes nothing.
    mutating func set(_ option: CurlOption, _ value: String?) {
      if let value { note(option, ekn_easy_set_pointer(easy, option.rawValue, value)) }
    }

    mutating func set(_ option: CurlOption, pointer: UnsafeRawPointer?) {
      note(option, ekn_easy_set_pointer(easy, option.rawValue, pointer))
    }

    mutating func note(_ option: CurlOption, _ code: Int32) {
      if code != 0, refused == nil, option.isRequired { refused = option }
    }

    mutating func refuse(_ option: CurlOption) { if refused == nil { refused = option } }

    /// The reason why the transfer must not begin; `nil` if it may.
    var error: TransportOptionError? {
      refused.map { TransportOptionError(option: $0.name, library: "libcurl \(CurlLibrary.versionText)") }
    }
  }

  extension TLSOptions {
    var curlOptions: [(option: CurlOption, value: String)] {
      var options: [(CurlOption, String?)] = [
        (.cainfo, certificateAuthorityFile?.path),
        (.sslcert, clientCertificate?.certificateFile.path),
        (.sslkey, clientCertificate?.keyFile.path),
        // Without a password OpenSSL would prompt for one on the terminal, blocking the event loop's thread.
        (.keypasswd, clientCertificate.map { $0.keyPassword ?? "" }),
      ]
      if !pinnedPublicKeys.isEmpty {
        options.append((.pinnedpublickey, pinnedPublicKeys.sorted().map { "sha256//\($0)" }.joined(separator: ";")))
      }
      return options.compactMap { option, value in value.map { (option, $0) } }
    }
  }

  extension TLSOptions.Version {
    /// `CURL_SSLVERSION_TLSv1_2` and `CURL_SSLVERSION_TLSv1_3`, which are minimums.
    fileprivate var curlValue: Int { self == .tls12 ? 6 : 7 }
  }

  extension CurlSettings {
    /// Trusts the system's authorities, unless the options specify a file of others.
    ///
    /// - Parameter loads: Whether libcurl has to load them.
    mutating func apply(_ tls: TLSOptions?, _ capabilities: CurlCapabilities, loads: Bool) {
      let authorities = capabilities.authorities
      if tls?.certificateAuthorityFile != nil, capabilities.defects.contains(.trustsRemovedFolder) {
        // Nothing can be in it. A TLS library that refuses it fails, rather than trust more than the file.
        set(.capath, "/dev/null")
      } else if !authorities.usesFolder(with: tls) {
        set(.capath, pointer: nil)
      }
      set(.proxyCainfo, authorities.file)
      set(.cainfo, authorities.file)
      for (option, value) in tls?.curlOptions ?? [] { set(option, value) }
      if !loads { ekn_easy_load_no_authorities(easy) }
      if let minimum = tls?.minimumVersion { set(.sslversion, minimum.curlValue) }
    }

    /// - Parameter resolved: The list of addresses of the host, which must outlive the handle.
    mutating func apply(_ route: ConnectionRoute, resolved: OpaquePointer?) {
      if let path = route.socketPath {
        return path.first == "@" ? set(.abstractUnixSocket, String(path.dropFirst())) : set(.unixSocketPath, path)
      }
      set(.interface, route.interface.map { (HostSyntax.address($0) == nil ? "if!" : "host!") + $0 })
      set(.dohUrl, route.dnsOverHTTPS?.absoluteString)
      if let resolved { set(.resolve, pointer: UnsafeRawPointer(resolved)) }
    }

    /// Uses this proxy, or none, whatever the environment says.
    mutating func apply(_ proxy: ProxyServer?) {
      set(.proxy, proxy?.url ?? "")
      set(.noproxy, "")
      set(.proxyusername, proxy?.user)
      set(.proxypassword, proxy?.password)
    }
  }

  /// The options of libcurl's easy handles that are used, by libcurl's names and numbers, which are part of its ABI.
  enum CurlOption: Int32, CaseIterable, Sendable {
    case abstractUnixSocket = 10264
    case buffersize = 98
    case cainfo = 10065
    case capath = 10097
    case connectOnly = 141
    case connecttimeoutMs = 156
    case errorbuffer = 10010
    case dohUrl = 10279
    case freshConnect = 74
    case httpVersion = 84
    case httpproxytunnel = 61
    case interface = 10062
    case keypasswd = 10026
    case noproxy = 10177
    case nosignal = 99
    case opensocketfunction = 20163
    case pinnedpublickey = 10230
    case `private` = 10103
    case proxy = 10004
    case proxyCainfo = 10246
    case proxypassword = 10176
    case proxyusername = 10175
    case quickExit = 322
    case resolve = 10203
    case resolverStartFunction = 20272
    case share = 10100
    case sslCtxFunction = 20108
    case sslEnableAlpn = 226
    case sslcert = 10025
    case sslkey = 10087
    case sslversion = 32
    case tcpKeepalive = 213
    case unixSocketPath = 10231
    case url = 10002
    case xferinfofunction = 20219

    var name: String {
      String(describing: self).reduce(into: "CURLOPT_") { name, letter in
        if letter.isUppercase { name += "_" }
        name += letter.uppercased()
      }
    }

    /// Whether safety depends on the option. The others make connections faster or errors easier to understand, or replace
    /// an option of another version.
    var isRequired: Bool {
      switch self {
      case .buffersize, .capath, .connecttimeoutMs, .errorbuffer, .proxyCainfo, .quickExit, .share, .tcpKeepalive:
        false
      default: true
      }
    }
  }
#endif
