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
    /// Whether freeing a handle waits for its name to be looked up.
    let joinsResolver: Bool
    /// Whether HTTP/2 can be spoken.
    let speaksHTTP2: Bool
    /// Whether it can also be offered on connections with TLS that libcurl opens.
    let opensHTTP2: Bool

    init(
      version: CurlVersion, tlsLibrary: String?, features: Features, missingOptions: Set<CurlOption>,
      authorities: CurlAuthorities, speaksHTTP2: Bool = false, offersHTTP2: Bool = false
    ) {
      self.version = version
      self.authorities = authorities
      self.speaksHTTP2 = speaksHTTP2
      opensHTTP2 = speaksHTTP2 && offersHTTP2
      self.tlsLibrary = tlsLibrary
      self.features = features
      self.missingOptions = missingOptions
      var defects = Set(CurlDefect.allCases.filter { $0.versions.contains(version) })
      // What can be queried is not derived from the version.
      joinsResolver = missingOptions.contains(.quickExit)
      if joinsResolver { defects.insert(.joinsResolver) } else { defects.remove(.joinsResolver) }
      self.defects = defects
    }

    /// The TLS libraries in which HTTP/2 can be offered past libcurl.
    private static let offering = ["OpenSSL/", "LibreSSL/", "BoringSSL", "AWS-LC", "quictls/"]

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
        authorities: CurlAuthorities(easy: easy, version: version),
        speaksHTTP2: ekn_http2_load(), offersHTTP2: mayOffer)
    }
  }

  /// The defects and limits of some versions of libcurl, and their workarounds: one case each, with the test that
  /// demonstrates it. The versions were determined from libcurl's source.
  enum CurlDefect: String, CaseIterable, Sendable {
    /// `asyn-thread.c`: removing a transfer waits for the thread that resolves its host name.
    /// Shown by `HangingLookupTests.cancelledLookupDoesNotBlockOthers`.
    case joinsResolver
    /// `asyn-thrdd.c`: freeing a connection pool waits for its resolver threads, of which there are 20 at most.
    /// Shown by `HangingLookupTests.cancelledWebSocketLookupDoesNotBlockOthers`.
    case limitsResolvers
    /// `http_proxy.c`: a proxy's response to `CONNECT` is read within one call, however long it is.
    /// Shown by `ProxyPeerTests.endlessTunnel`.
    case readsEndlessTunnels

    /// The versions that have the defect, up to the first that does not.
    var versions: Range<CurlVersion> {
      switch self {
      case .joinsResolver: Self.always.lowerBound..<CurlVersion(7, 87)
      case .limitsResolvers: CurlVersion(8, 20)..<Self.always.upperBound
      case .readsEndlessTunnels: Self.always
      }
    }

    /// What the library does instead.
    var remedy: String {
      switch self {
      case .joinsResolver: "a cancelled connection is closed on a thread of its own while its host's name is resolved"
      case .limitsResolvers: "up to 256 resolver threads are allowed, and cleanup does not wait for them"
      case .readsEndlessTunnels:
        "libcurl's progress callback ends it after 300 KB, and when the request is cancelled or times out"
      }
    }

    static let always = CurlVersion(0, 0)..<CurlVersion(256, 0)
  }
#endif
