#if os(Linux)
  import CCurl
  import Foundation

  /// The certificate authorities of the system, for requests that specify none.
  ///
  /// Their location differs by distribution. libcurl knows that of the distribution it was built for, which is the
  /// wrong one, or none, if a program ships its own libcurl.
  struct CurlAuthorities: Equatable, Sendable {
    /// The file to pass to libcurl; `nil` leaves the choice to libcurl.
    let file: String?
    /// Whether libcurl's folder of certificates is needed. With it, libcurl cannot cache what it has read, which costs
    /// 16 ms for each new connection.
    let needsFolder: Bool

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
      } else {
        file = Self.knownFiles.first(where: isReadable)
        needsFolder = file == nil
      }
    }

    /// Returns whether libcurl's folder is trusted, which it is not beside authorities that replace the system's.
    func usesFolder(with tls: TLSOptions?) -> Bool { needsFolder && tls?.certificateAuthorityFile == nil }

    /// Queries libcurl, which must be loaded.
    init(easy: OpaquePointer, version: CurlVersion) {
      self.init(
        builtIn: ekn_easy_info_string(easy, Int32(EKN_INFO_CAINFO)).map { String(cString: $0) },
        isKnown: version >= CurlVersion(7, 84), isReadable: { access($0, R_OK) == 0 })
    }
  }
#endif
