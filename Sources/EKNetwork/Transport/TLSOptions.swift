import Foundation

/// Which servers to trust over TLS, and how to be known to the server, where the system's defaults are not meant.
///
/// Files are read when a connection is made. One that cannot be read fails the request with
/// `URLError.secureConnectionFailed`, or `URLError.clientCertificateRejected` for a client certificate; on Apple's
/// platforms with `URLError.serverCertificateUntrusted`. There, an identity is kept in a keychain and shown by a session's
/// delegate: a request with a ``clientCertificate`` is not sent, and fails with `URLError.clientCertificateRejected`.
public struct TLSOptions: Sendable, Hashable {
  /// A certificate that the client shows to servers that ask for one.
  public struct ClientCertificate: Sendable, Hashable {
    /// A PEM file with the certificate and those between it and its authority.
    public var certificateFile: URL
    /// A PEM file with the private key.
    public var keyFile: URL
    /// What the private key is encrypted with; `nil` for one in clear.
    public var keyPassword: String?

    /// A client certificate from PEM files.
    public init(certificateFile: URL, keyFile: URL, keyPassword: String? = nil) {
      self.certificateFile = certificateFile
      self.keyFile = keyFile
      self.keyPassword = keyPassword
    }
  }

  /// A PEM file with the certificate authorities that are trusted in the place of the system's. Defaults to `nil`:
  /// the system's. On Apple's platforms App Transport Security refuses a server that the system does not trust by itself,
  /// unless the app has an exception for its domain (`NSExceptionAllowsInsecureHTTPLoads`); sockets need none.
  public var certificateAuthorityFile: URL?
  /// SHA-256 hashes, in Base64, of the public keys (RFC 7469 §2.4: of the DER-encoded `SubjectPublicKeyInfo`) of which
  /// the server has to have one, besides a valid certificate; else the request fails with
  /// `URLError.serverCertificateUntrusted`. Defaults to none: any key.
  public var pinnedPublicKeys: Set<String>
  /// Shown to servers that ask for one. Defaults to `nil`.
  public var clientCertificate: ClientCertificate?

  /// Options that differ from the defaults in what is given.
  public init(
    certificateAuthorityFile: URL? = nil, pinnedPublicKeys: Set<String> = [],
    clientCertificate: ClientCertificate? = nil
  ) {
    self.certificateAuthorityFile = certificateAuthorityFile
    self.pinnedPublicKeys = pinnedPublicKeys
    self.clientCertificate = clientCertificate
  }
}
