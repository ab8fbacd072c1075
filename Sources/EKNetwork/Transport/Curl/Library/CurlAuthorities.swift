#if os(Linux)
  import CCurl
  import Foundation

  /// The certificate authorities of the system, for requests that name none of their own.
  ///
  /// Where they are differs by distribution, and libcurl knows the place of the one it was built for: that of another, or none,
  /// where a program brings its libcurl along.
  struct CurlAuthorities: Equatable, Sendable {
    /// The file to be named to libcurl; `nil` leaves it to libcurl.
    let file: String?
    /// Whether libcurl's folder of certificates is needed. With it libcurl cannot cache what it has read: 16 ms for each new
    /// connection.
    let needsFolder: Bool

    /// Where distributions keep all of them in one file: Debian, Fedora and Red Hat, SUSE, Alpine.
    static let knownFiles = [
      "/etc/ssl/certs/ca-certificates.crt",
      "/etc/pki/tls/certs/ca-bundle.crt",
      "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
      "/etc/ssl/ca-bundle.pem",
      "/etc/ssl/cert.pem",
    ]

    /// - Parameters:
    ///   - builtIn: The file that libcurl was built with; `nil` for none.
    ///   - isKnown: Whether libcurl says what that is.
    ///   - isReadable: Whether a file can be read.
    init(builtIn: String?, isKnown: Bool = true, isReadable: (String) -> Bool) {
      if !isKnown || builtIn.map(isReadable) == true {
        file = nil
        needsFolder = false
      } else {
        file = Self.knownFiles.first(where: isReadable)
        needsFolder = file == nil
      }
    }

    /// Whether libcurl's folder is trusted: not beside authorities that are meant in the place of the system's.
    func usesFolder(with tls: TLSOptions?) -> Bool { needsFolder && tls?.certificateAuthorityFile == nil }

    /// Asks libcurl, which has been loaded.
    init(easy: OpaquePointer, version: CurlVersion) {
      self.init(
        builtIn: ekn_easy_info_string(easy, Int32(EKN_INFO_CAINFO)).map { String(cString: $0) },
        isKnown: version >= CurlVersion(7, 84), isReadable: { access($0, R_OK) == 0 })
    }
  }
#endif
