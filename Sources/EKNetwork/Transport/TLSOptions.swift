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
  public struct ClientCertificate: Sendable, Hashable, Redacted {
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

    var redacted: String { "\(certificateFile.path), \(keyFile.path)" }
  }

  /// A PEM file with the certificate authorities to trust instead of the system's. Defaults to `nil`, which means the
  /// system's. On Apple's platforms, App Transport Security refuses a server that the system itself does not trust,
  /// unless the app has an exception for its domain (`NSExceptionAllowsInsecureHTTPLoads`); sockets need none.
  public var certificateAuthorityFile: URL?
  /// SHA-256 hashes, in Base64, of public keys (RFC 7469 §2.4: of the DER-encoded `SubjectPublicKeyInfo`). The server
  /// must have one of these keys in addition to a valid certificate; otherwise the request fails with
  /// `URLError.serverCertificateUntrusted`, before anything is sent if one of them is no such hash. Defaults to none, which
  /// allows any key.
  public var pinnedPublicKeys: Set<String>
  /// The certificate to present to servers that request one, but not to another origin, to which a redirect or
  /// middleware leads. Where libcurl uses OpenSSL, a server that refuses it fails the request with
  /// `URLError.clientCertificateRejected`, and one that requires a certificate, of a client without, with
  /// `URLError.clientCertificateRequired`. Defaults to `nil`.
  public var clientCertificate: ClientCertificate?
  /// The oldest version of TLS that is spoken. A server that speaks only older ones fails the request with
  /// `URLError.secureConnectionFailed`. Defaults to `nil`: the system's own, today TLS 1.2 nearly everywhere.
  public var minimumVersion: Version?

  /// A version of TLS.
  public enum Version: Sendable, Hashable, CaseIterable {
    /// TLS 1.2 (RFC 5246).
    case tls12
    /// TLS 1.3 (RFC 8446).
    case tls13
  }

  /// Creates options in which parameters that are left out keep their defaults.
  public init(
    certificateAuthorityFile: URL? = nil, pinnedPublicKeys: Set<String> = [],
    clientCertificate: ClientCertificate? = nil, minimumVersion: Version? = nil
  ) {
    self.certificateAuthorityFile = certificateAuthorityFile
    self.pinnedPublicKeys = pinnedPublicKeys
    self.clientCertificate = clientCertificate
    self.minimumVersion = minimumVersion
  }
}

extension TLSOptions {
  /// Why no connection could be made with these options; `nil` if one may.
  var problem: URLError? {
    let isHash: (String) -> Bool = { Data(base64Encoded: $0)?.count == 32 }
    guard let key = pinnedPublicKeys.first(where: { !isHash($0) }) else { return nil }
    return URLError(
      .serverCertificateUntrusted, url: nil,
      description: "The pinned key \(key.prefix(80).debugDescription) is not a SHA-256 hash in Base64")
  }
}

extension SubjectPublicKey {
  /// Returns whether a certificate's key is one of the pinned ones, which are SHA-256 hashes in Base64.
  static func isPinned(_ certificate: [UInt8], by pins: Set<String>) -> Bool {
    guard let key = bytes(inCertificate: certificate) else { return false }
    return pins.contains(Data(SHA256.digest(Array(key))).base64EncodedString())
  }
}

/// Certificates in the textual encoding of RFC 7468.
enum PEMFile {
  /// Returns the DER-encoded certificates of a file, in order, or `nil` if it cannot be read or one of them is
  /// malformed.
  static func certificates(in file: URL) -> [Data]? {
    guard file.isFileURL, let text = try? Data(contentsOf: file) else { return nil }
    return certificates(in: String(decoding: text, as: UTF8.self))
  }

  /// Returns the certificates in a text. Whatever surrounds them is ignored (§2).
  static func certificates(in text: String) -> [Data]? {
    var found: [Data] = []
    var content: String?
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.trimmingCharacters(in: .whitespaces)
      switch (line, content) {
      case ("-----BEGIN CERTIFICATE-----", nil): content = ""
      case ("-----END CERTIFICATE-----", let encoded?):
        guard let data = Data(base64Encoded: encoded), !data.isEmpty else { return nil }
        found.append(data)
        content = nil
      case (_, let encoded?): content = encoded + line
      default: break
      }
    }
    return content == nil ? found : nil
  }
}
