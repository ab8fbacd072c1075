#if os(Linux)
  import CCurl
  import Foundation

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
    /// Whether connections can use the authorities that another has loaded, without loading them.
    let sharesAuthorities: Bool

    init(
      version: CurlVersion, tlsLibrary: String?, features: Features, missingOptions: Set<CurlOption>,
      authorities: CurlAuthorities, speaksHTTP2: Bool = false, offersHTTP2: Bool = false,
      sharesAuthorities: Bool = false
    ) {
      self.version = version
      self.authorities = authorities
      self.speaksHTTP2 = speaksHTTP2
      opensHTTP2 = speaksHTTP2 && offersHTTP2
      self.sharesAuthorities = sharesAuthorities
      self.tlsLibrary = tlsLibrary
      self.features = features
      self.missingOptions = missingOptions
      var defects = Set(CurlDefect.allCases.filter { $0.versions.contains(version) })
      // What can be queried is not derived from the version.
      joinsResolver = missingOptions.contains(.quickExit)
      if joinsResolver { defects.insert(.joinsResolver) } else { defects.remove(.joinsResolver) }
      self.defects = defects
    }

    /// The TLS libraries that can be configured past libcurl, as for HTTP/2.
    private static let offering = ["OpenSSL/", "LibreSSL/", "BoringSSL", "AWS-LC", "quictls/"]

    /// Queries libcurl, which must be loaded. Returns `nil` if libcurl cannot allocate a handle.
    static func measured() -> CurlCapabilities? {
      guard let easy = ekn_easy_init() else { return nil }
      defer { ekn_easy_cleanup(easy) }
      let library = ekn_curl_version()
      let version = CurlVersion(number: library.number)
      let tlsLibrary = library.tls.map { String(cString: $0) }
      let missingOptions = Set(CurlOption.allCases.filter { ekn_easy_knows(easy, $0.rawValue) == false })
      let mayPrepare =
        !missingOptions.contains(.sslCtxFunction) && offering.contains { tlsLibrary?.hasPrefix($0) == true }
      return CurlCapabilities(
        version: version, tlsLibrary: tlsLibrary,
        features: Features(rawValue: library.features),
        // A null pointer is valid for every known pointer option, and 0 for every number.
        missingOptions: missingOptions,
        authorities: CurlAuthorities(easy: easy, version: version),
        speaksHTTP2: ekn_http2_load(),
        offersHTTP2: mayPrepare && !missingOptions.contains(.sslEnableAlpn) && ekn_tls_can_offer(),
        sharesAuthorities: mayPrepare && ekn_tls_can_share_authorities())
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
    /// `connect.c`: the next address of a family is chosen when the time of one is over, and only connected to once libcurl
    /// is called for something else, which nothing is then. Shown by `SilentAddressTests.timeout`.
    case forgetsNextAddress
    /// `http_proxy.c`: a proxy's response to `CONNECT` is read within one call, however long it is.
    /// Shown by `ProxyPeerTests.endlessTunnel`.
    case readsEndlessTunnels
    /// `vtls_config.c`: the folder of authorities that libcurl was built with is trusted even if it was taken away.
    /// Shown by `ConnectionTLSPeerTests.systemFolderIsNotTrusted`.
    case trustsRemovedFolder

    /// The versions that have the defect, up to the first that does not.
    var versions: Range<CurlVersion> {
      switch self {
      case .joinsResolver: Self.always.lowerBound..<CurlVersion(7, 87)
      case .limitsResolvers: CurlVersion(8, 20)..<Self.always.upperBound
      case .forgetsNextAddress: CurlVersion(7, 88)..<CurlVersion(8, 4)
      case .readsEndlessTunnels: Self.always
      case .trustsRemovedFolder: CurlVersion(8, 17)..<Self.always.upperBound
      }
    }

    /// What the library does instead.
    var remedy: String {
      switch self {
      case .joinsResolver: "a cancelled connection is closed on a thread of its own while its host's name is resolved"
      case .limitsResolvers: "up to 256 resolver threads are allowed, and cleanup does not wait for them"
      case .forgetsNextAddress: "libcurl is called once more for a connection of which it has closed a socket"
      case .readsEndlessTunnels:
        "libcurl's progress callback ends it after 300 KB, and when the request is cancelled or times out"
      case .trustsRemovedFolder:
        "where a file replaces the system's authorities, libcurl is given a folder in which nothing can be"
      }
    }

    static let always = CurlVersion(0, 0)..<CurlVersion(256, 0)
  }

  struct CurlVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    let major: Int
    let minor: Int
    let patch: Int

    init(_ major: Int, _ minor: Int, _ patch: Int = 0) {
      self.major = major
      self.minor = minor
      self.patch = patch
    }

    /// - Parameter number: The version in libcurl's format, 0xXXYYZZ.
    init(number: UInt32) {
      self.init(Int(number >> 16 & 0xff), Int(number >> 8 & 0xff), Int(number & 0xff))
    }

    var description: String { "\(major).\(minor).\(patch)" }

    static func < (lhs: CurlVersion, rhs: CurlVersion) -> Bool {
      (lhs.major, lhs.minor, lhs.patch) < (rhs.major, rhs.minor, rhs.patch)
    }
  }

  enum CurlLibrary {
    /// Its capabilities, or why it is not used.
    static let state: Result<CurlCapabilities, Unusable> = load()

    struct Unusable: Error, Sendable {
      /// One sentence that says how to fix it.
      let reason: String
    }

    static var capabilities: CurlCapabilities? { try? state.get() }

    static var versionText: String { capabilities.map { "\($0.version)" } ?? "" }

    private static func load() -> Result<CurlCapabilities, Unusable> {
      if let problem = ekn_curl_problem() {
        return .failure(Unusable(reason: reason(problem: String(cString: problem))))
      }
      guard let capabilities = CurlCapabilities.measured() else {
        return .failure(Unusable(reason: reason(problem: "curl_easy_init")))
      }
      if capabilities.version < CurlCapabilities.lowestVersion {
        return .failure(Unusable(reason: reason(version: capabilities.version)))
      }
      return .success(capabilities)
    }

    /// - Parameter problem: The name of a file, or of one of libcurl's functions.
    static func reason(problem: String) -> String {
      problem.hasPrefix("libcurl")
        ? "\(problem) cannot be opened: install libcurl \(CurlCapabilities.lowestVersion) or newer (\(packages))"
        : "libcurl's \(problem) is missing or fails: install libcurl \(CurlCapabilities.lowestVersion) or newer (\(packages))"
    }

    static func reason(version: CurlVersion) -> String {
      "libcurl \(version) is too old: install libcurl \(CurlCapabilities.lowestVersion) or newer (\(packages))"
    }

    private static let packages = "the package libcurl4 on Debian and Ubuntu, libcurl on Fedora and Red Hat"
  }

  /// The certificate authorities of the system, for requests that specify none.
  ///
  /// Their location differs by distribution. libcurl knows that of the distribution it was built for, which is the
  /// wrong one, or none, if a program ships its own libcurl.
  struct CurlAuthorities: Equatable, Sendable {
    /// The file to pass to libcurl; `nil` leaves the choice to libcurl.
    let file: String?
    /// Whether libcurl's folder of certificates is needed. What it has read of that is not shared among connections.
    let needsFolder: Bool
    /// The files from which libcurl reads them, or where they are expected if it does not say.
    let watched: [String]

    /// The files in which distributions keep all authorities: Debian, Fedora and Red Hat, SUSE, Alpine.
    static let knownFiles = [
      "/etc/ssl/certs/ca-certificates.crt",
      "/etc/pki/tls/certs/ca-bundle.crt",
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/ssl/ca-bundle.pem",
      "/etc/ssl/cert.pem",
    ]

    /// - Parameters:
    ///   - builtIn: The file that libcurl was built with; `nil` if there is none.
    ///   - isKnown: Whether this libcurl reports that file.
    ///   - isReadable: Returns whether a file can be read.
    init(builtIn: String?, isKnown: Bool = true, isReadable: (String) -> Bool) {
      if !isKnown || builtIn.map(isReadable) == true {
        file = nil
        needsFolder = false
        watched = isKnown ? [builtIn].compactMap { $0 } : Self.knownFiles
      } else {
        file = Self.knownFiles.first(where: isReadable)
        needsFolder = file == nil
        watched = [file].compactMap { $0 }
      }
    }

    /// Returns whether libcurl's folder is trusted, which it is not beside authorities that replace the system's.
    func usesFolder(with tls: TLSOptions?) -> Bool { needsFolder && tls?.certificateAuthorityFile == nil }

    /// The version of the authorities to trust; `nil` if they cannot be shared, or read.
    func version(with tls: TLSOptions?) -> AuthoritiesVersion? {
      guard !usesFolder(with: tls) else { return nil }
      let version = AuthoritiesVersion(files: (tls?.certificateAuthorityFile?.path).map { [$0] } ?? watched)
      return version.isEmpty ? nil : version
    }

    /// Queries libcurl, which must be loaded.
    init(easy: OpaquePointer, version: CurlVersion) {
      self.init(
        builtIn: ekn_easy_info_pointer(easy, Int32(EKN_INFO_CAINFO)).map {
          String(cString: $0.assumingMemoryBound(to: CChar.self))
        },
        isKnown: version >= CurlVersion(7, 84), isReadable: { access($0, R_OK) == 0 })
    }
  }
#endif
