import Foundation

/// Options for trusting servers and identifying the client over TLS, where the system's defaults do not fit.
///
/// Files are read when a connection is made; on Linux a request that begins after a file was replaced gets a new
/// connection. A file that cannot be read fails the request with `URLError.secureConnectionFailed`, or
/// `URLError.clientCertificateRejected` for a client certificate; on Apple's platforms with
/// `URLError.serverCertificateUntrusted`. There, an identity is kept in a keychain and presented by a session's
/// delegate: a request with a ``clientCertificate`` is not sent, and fails with `URLError.clientCertificateRejected`.
public struct TLSOptions: Sendable, Hashable {
  /// A certificate that the client presents to servers that request one.
  public struct ClientCertificate: Sendable, Hashable {
    /// A PEM file with the certificate and its intermediate certificates.
    public var certificateFile: URL
    /// A PEM file with the private key.
    public var keyFile: URL
    /// The password of the private key; `nil` if the key is not encrypted.
    public var keyPassword: String?

    /// Creates a client certificate from PEM files.
    public init(certificateFile: URL, keyFile: URL, keyPassword: String? = nil) {
      self.certificateFile = certificateFile
      self.keyFile = keyFile
      self.keyPassword = keyPassword
    }
  }

  /// A PEM file with the certificate authorities to trust instead of the system's. Defaults to `nil`, which means the
  /// system's. On Apple's platforms, App Transport Security refuses a server that the system itself does not trust,
  /// unless the app has an exception for its domain (`NSExceptionAllowsInsecureHTTPLoads`); sockets need none.
  public var certificateAuthorityFile: URL?
  /// SHA-256 hashes, in Base64, of public keys (RFC 7469 §2.4: of the DER-encoded `SubjectPublicKeyInfo`). The server
  /// must have one of these keys in addition to a valid certificate; otherwise the request fails with
  /// `URLError.serverCertificateUntrusted`. Defaults to none, which allows any key.
  public var pinnedPublicKeys: Set<String>
  /// The certificate to present to servers that request one, but not to another origin, to which a redirect or
  /// middleware leads. Defaults to `nil`.
  public var clientCertificate: ClientCertificate?

  /// Creates options in which parameters that are left out keep their defaults.
  public init(
    certificateAuthorityFile: URL? = nil, pinnedPublicKeys: Set<String> = [],
    clientCertificate: ClientCertificate? = nil
  ) {
    self.certificateAuthorityFile = certificateAuthorityFile
    self.pinnedPublicKeys = pinnedPublicKeys
    self.clientCertificate = clientCertificate
  }
}
