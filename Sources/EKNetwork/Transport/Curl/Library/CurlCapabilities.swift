#if os(Linux)
  import CCurl

  /// The capabilities of the installed libcurl, and the known defects that it has.
  struct CurlCapabilities: Sendable {
    /// The feature bits of libcurl's `curl_version_info`.
    struct Features: OptionSet, Sendable {
      let rawValue: Int32

      static let ipv6 = Features(rawValue: 1 << 0)
      static let tls = Features(rawValue: 1 << 2)
      static let asynchronousResolver = Features(rawValue: 1 << 7)
      static let http2 = Features(rawValue: 1 << 16)
    }

    /// The oldest supported version. It is the oldest one on the systems that Swift 6 supports (Red Hat's Universal
    /// Base Image 9 has 7.76.1): older versions cannot be tested.
    static let lowestVersion = CurlVersion(7, 76)

    let version: CurlVersion
    /// The TLS library and its version; `nil` if there is none.
    let tlsLibrary: String?
    let features: Features
    /// The options that this libcurl does not know, or was built without.
    let missingOptions: Set<CurlOption>
    let defects: Set<CurlDefect>
    let authorities: CurlAuthorities
    /// Whether the TLS library reports bytes that libcurl has not read from it. Otherwise no connection over which it
    /// was used is used again.
    let seesTLSInput: Bool

    // Derived values that every transfer reads.
    let reusesHandles: Bool
    let hasPrereqCallback: Bool
    let joinsResolver: Bool
    let readsWhilePaused: Bool
    let leavesDataBehind: Bool
    let reusesConnectionsWithData: Bool
    /// Whether libcurl's HTTP/2 can be relied on.
    let supportsHTTP2: Bool
    /// Whether the library itself can speak HTTP/2 on connections that libcurl opens.
    let opensHTTP2: Bool
    let stallsUploads: Bool
    let completesResetUploads: Bool

    init(
      version: CurlVersion, tlsLibrary: String?, features: Features, missingOptions: Set<CurlOption>,
      authorities: CurlAuthorities, seesTLSInput: Bool = true, opensHTTP2: Bool = false
    ) {
      self.version = version
      self.authorities = authorities
      self.seesTLSInput = seesTLSInput
      self.opensHTTP2 = opensHTTP2
      self.tlsLibrary = tlsLibrary
      self.features = features
      self.missingOptions = missingOptions
      var defects = Set(CurlDefect.allCases.filter { $0.versions.contains(version) })
      // What can be queried is not derived from the version.
      func note(_ defect: CurlDefect, _ isThere: Bool) {
        if isThere { defects.insert(defect) } else { defects.remove(defect) }
      }
      note(.resendsWithoutCallback, missingOptions.contains(.prereqfunction))
      note(.joinsResolver, missingOptions.contains(.quickExit))
      self.defects = defects
      reusesHandles = !defects.contains(.danglingHeader)
      hasPrereqCallback = !defects.contains(.resendsWithoutCallback)
      joinsResolver = defects.contains(.joinsResolver)
      readsWhilePaused = defects.contains(.readsWhilePaused)
      leavesDataBehind = defects.contains(.leavesDataBehind)
      reusesConnectionsWithData = defects.contains(.reusesConnectionsWithData)
      stallsUploads = defects.contains(.stallsUploads)
      completesResetUploads = defects.contains(.completesResetUploads)
      supportsHTTP2 =
        features.contains(.http2) && defects.isDisjoint(with: [.completesResetStreams, .pausesWholeConnections])
    }

    /// Whether requests to one origin can share connections.
    var mayShareConnections: Bool { supportsHTTP2 || opensHTTP2 }

    /// The TLS libraries in which HTTP/2 can be offered past libcurl.
    private static let offering = ["OpenSSL/", "LibreSSL/", "BoringSSL", "AWS-LC", "quictls/"]

    /// The window with which every stream begins (RFC 9113 §6.9.2).
    private static let initialWindow = 65_535

    /// Returns whether HTTP/2 may be used for a request with this body.
    func allowsHTTP2(for upload: (any UploadSource)?) -> Bool {
      guard supportsHTTP2, stallsUploads, let upload else { return supportsHTTP2 }
      // A body in memory is there at once. It only waits for the server's window.
      return upload is DataUpload && upload.length ?? .max <= Self.initialWindow
    }

    /// Queries libcurl, which must be loaded. Returns `nil` if libcurl cannot allocate a handle.
    static func measured() -> CurlCapabilities? {
      guard let easy = ekn_easy_init() else { return nil }
      defer { ekn_easy_cleanup(easy) }
      let library = ekn_curl_version()
      let version = CurlVersion(number: library.number)
      let tlsLibrary = library.tls.map { String(cString: $0) }
      let missingOptions = Set(CurlOption.allCases.filter { ekn_easy_knows(easy, $0.rawValue) == false })
      let mayOffer =
        missingOptions.isDisjoint(with: [.sslCtxFunction, .sslEnableAlpn]) && ekn_tls_can_offer()
        && offering.contains { tlsLibrary?.hasPrefix($0) == true }
      return CurlCapabilities(
        version: version, tlsLibrary: tlsLibrary,
        features: Features(rawValue: library.features),
        // A null pointer is valid for every known pointer option, and 0 for every number.
        missingOptions: missingOptions,
        authorities: CurlAuthorities(easy: easy, version: version), seesTLSInput: ekn_tls_reports_input(),
        opensHTTP2: mayOffer && ekn_bare_load() && ekn_http2_load())
    }
  }
#endif
