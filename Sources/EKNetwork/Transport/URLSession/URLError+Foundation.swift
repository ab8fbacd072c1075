import Foundation

extension URLError {
  /// Creates an error of the transport's own, with the URL that it concerns.
  init(_ code: Code, url: URL?, description: String? = nil, cause: (any Error)? = nil) {
    var userInfo: [String: Any] = [:]
    // Errors are shown and logged.
    if let url { userInfo[NSURLErrorFailingURLErrorKey] = url.withoutCredentials }
    if let description { userInfo[NSLocalizedDescriptionKey] = description }
    if let cause { userInfo[NSUnderlyingErrorKey] = cause }
    self.init(code, userInfo: userInfo)
  }

  func replacingURL(with url: URL?) -> URLError {
    var userInfo = errorUserInfo
    userInfo[NSURLErrorFailingURLErrorKey] = url?.withoutCredentials
    return URLError(code, userInfo: userInfo)
  }

  static func timedOut(_ url: URL?) -> URLError {
    URLError(.timedOut, url: url, description: "The request timed out.")
  }

  /// Returns the error of a task as it would be reported on Apple's platforms.
  ///
  /// On Linux most failures are `URLError.unknown`, and only libcurl's text tells them apart; the text is kept as the
  /// description. Anything but a `URLError`, such as an error of a custom `URLProtocol`, is returned unchanged.
  static func mapped(_ error: any Error, url: URL?) -> any Error {
    let nsError = error as NSError
    if nsError.domain == NSPOSIXErrorDomain { return posix(nsError, url: url) }
    if nsError.domain == "kCFErrorDomainCFNetwork" {
      return URLError(code(ofCFNetwork: nsError.code), userInfo: userInfo(around: nsError, url: url))
    }
    #if canImport(Darwin)
      return error
    #else
      guard nsError.domain == NSURLErrorDomain else { return error }
      var userInfo = nsError.userInfo
      if let url = userInfo[NSURLErrorFailingURLErrorKey] as? URL ?? url {
        userInfo[NSURLErrorFailingURLErrorKey] = url.withoutCredentials
        if userInfo[Self.failingURLString] != nil {
          userInfo[Self.failingURLString] = url.withoutCredentials.absoluteString
        }
      }
      let text = userInfo[NSLocalizedDescriptionKey] as? String ?? ""
      if let refusal = proxyRefusal(text) {
        userInfo[NSLocalizedDescriptionKey] = refusal
        return URLError(.badURL, userInfo: userInfo)
      }
      return URLError(corrected(Code(rawValue: nsError.code) ?? .unknown, text: text), userInfo: userInfo)
    #endif
  }

  /// The name of the deprecated key for the URL as text, which Foundation still sets.
  private static let failingURLString = "NSErrorFailingURLStringKey"

  /// Maps the system's error for a socket, mostly one that was closed while the app was in the background.
  private static func posix(_ error: NSError, url: URL?) -> any Error {
    guard let code = POSIXErrorCode(rawValue: Int32(truncatingIfNeeded: error.code)) else { return error }
    return URLError(NetworkConnectionFailure.code(of: code), userInfo: userInfo(around: error, url: url))
  }

  private static func userInfo(around error: NSError, url: URL?) -> [String: Any] {
    var userInfo = error.userInfo
    if let url { userInfo[NSURLErrorFailingURLErrorKey] = url.withoutCredentials }
    userInfo[NSUnderlyingErrorKey] = error
    return userInfo
  }

  /// Returns the code for one of `CFNetworkErrors`, which `URLSession` passes on where it has none: 303 of HTTP/2, 310 of a
  /// proxy.
  static func code(ofCFNetwork number: Int) -> Code {
    switch number {
    case 1, 2: return .cannotFindHost  // kCFHostError…
    case 100..<200: return .cannotConnectToHost  // kCFSOCKS…, of a proxy
    case 302: return .networkConnectionLost
    case 303: return .badServerResponse  // kCFErrorHTTPParseFailure
    case 304: return .httpTooManyRedirects
    case 305: return .badURL
    case 307, 309: return .userAuthenticationRequired  // kCFErrorHTTPBadProxyCredentials, kCFErrorPACFileAuth
    case 306...311: return .cannotConnectToHost  // kCFErrorHTTPProxy…, kCFErrorPACFile…
    default:
      // Those of URLs have the same numbers, from kCFURLErrorUnknown on.
      let same: Code? = number < -998 ? Code(rawValue: number) : nil
      return same ?? .unknown
    }
  }

  /// Returns the error of a session that cannot send this request, or any request.
  static func unusable(_ url: URL?, _ description: String) -> URLError {
    URLError(.resourceUnavailable, url: url, description: description)
  }

  /// What libcurl's message means if it refuses the URL of a proxy, which the message contains with the password for the
  /// proxy; `nil` otherwise.
  static func proxyRefusal(_ text: String) -> String? {
    text.hasPrefix("Unsupported proxy ")
      ? "The URL of the proxy is not valid, or has a scheme that libcurl does not support" : nil
  }

  /// Returns the code that `text`, one of libcurl's messages, stands for.
  static func corrected(_ code: Code, text: String) -> Code {
    let text = text.lowercased()
    switch code {
    case .unknown:
      return messages.first { text.contains($0.part) }?.code ?? .unknown
    case .badServerResponse where text.contains("empty reply"):
      // The server closed the connection without a response. Apple reports -1005, which a retry policy can match.
      return .networkConnectionLost
    case .unsupportedURL:
      // The scheme was checked before: this is libcurl's "unsupported protocol" for a status line that is not HTTP.
      return .badServerResponse
    default:
      return code
    }
  }

  /// Parts of libcurl's messages, first match first.
  private static let messages: [(part: String, code: Code)] = [
    // Before the others: these contain the name of the host, which may be "tls.example.com".
    ("resolve host", .cannotFindHost),
    ("resolve proxy", .cannotFindHost),
    ("failed to connect", .cannotConnectToHost),
    ("failed to resolve", .cannotFindHost),
    // Of a proxy: "Can't complete SOCKS5 connection to tls.example.com".
    ("complete socks", .cannotConnectToHost),
    // OpenSSL's X.509 verification results, as libcurl prints them.
    ("certificate has expired", .serverCertificateHasBadDate),
    ("certificate is not yet valid", .serverCertificateNotYetValid),
    // A self-signed certificate in the chain. A self-signed leaf is matched further down: Apple calls it untrusted.
    ("ssl certificate problem: self-signed certificate in", .serverCertificateHasUnknownRoot),
    ("ssl certificate problem: self signed certificate in", .serverCertificateHasUnknownRoot),
    ("unable to get local issuer", .serverCertificateHasUnknownRoot),
    ("unable to get issuer", .serverCertificateHasUnknownRoot),
    ("certificate problem", .serverCertificateUntrusted),
    // The certificate is for another host name.
    ("certificate subject name", .serverCertificateUntrusted),
    ("subjectaltname", .serverCertificateUntrusted),
    ("client certificate", .clientCertificateRequired),
    // The connection went away before the message was complete (RFC 9112 §8).
    ("transfer closed with", .networkConnectionLost),
    ("outstanding read data", .networkConnectionLost),
    // The same in libcurl 8.14.
    ("bytes missing", .networkConnectionLost),
    ("connection reset", .networkConnectionLost),
    ("recv failure", .networkConnectionLost),
    ("send failure", .networkConnectionLost),
    ("empty reply", .networkConnectionLost),
    ("unexpected eof", .networkConnectionLost),
    ("http/2 stream", .networkConnectionLost),
    ("http2 framing", .networkConnectionLost),
    // Coding of the content (RFC 9110 §8.4).
    ("content encoding", .cannotDecodeContentData),
    ("content-encoding", .cannotDecodeContentData),
    ("content unencoding", .cannotDecodeContentData),
    ("content decoding", .cannotDecodeContentData),
    ("inflate", .cannotDecodeContentData),
    ("decompress", .cannotDecodeContentData),
    // The response is not HTTP.
    ("chunk", .badServerResponse),
    ("hexadecimal", .badServerResponse),
    ("failed writing header", .badServerResponse),
    ("failed writing received data", .badServerResponse),
    ("failure writing output", .badServerResponse),
    ("header", .badServerResponse),
    ("nul byte", .badServerResponse),
    ("invalid content-length", .badServerResponse),
    ("invalid value", .badServerResponse),
    ("weird server reply", .badServerResponse),
    ("transfer-encoding", .badServerResponse),
    // A line of more than 100 KB; libcurl's buffer reports it like this.
    ("out of memory", .badServerResponse),
    // The handshake failed. After the certificates, whose messages also mention SSL.
    ("ssl", .secureConnectionFailed),
    ("tls", .secureConnectionFailed),
    ("wrong version number", .secureConnectionFailed),
    ("timed out", .timedOut),
  ]
}

/// The reason why a connection of Apple's Network framework failed to open or ended, including what `URLSession`
/// reports of it.
enum NetworkConnectionFailure: Error, Equatable {
  case posix(POSIXErrorCode)
  /// A dns_sd error code: `kDNSServiceErr_…`.
  case dns(Int32)
  /// A Secure Transport status: `errSSL…`.
  case tls(Int32)
  case other

  /// The code that `URLSession` reports for this failure. A temporary condition has the code of a transient failure.
  var code: URLError.Code {
    switch self {
    case .posix(let code): Self.code(of: code)
    case .dns: .cannotFindHost
    case .tls(let status): Self.code(ofTLS: status)
    case .other: .cannotConnectToHost
    }
  }

  /// Whether the failure only means that this side has closed the connection.
  var isCancellation: Bool { self == .posix(.ECANCELED) }

  /// Whether the failure only means that the peer has closed the connection cleanly: there is nothing more to read.
  var isEnd: Bool { self == .posix(.ENODATA) }

  static func code(of error: POSIXErrorCode) -> URLError.Code {
    switch error {
    case .ECONNREFUSED, .EHOSTUNREACH, .EHOSTDOWN, .EADDRNOTAVAIL: .cannotConnectToHost
    case .ENETDOWN, .ENETUNREACH: .notConnectedToInternet
    case .ETIMEDOUT: .timedOut
    // ECONNRESET, ENOTCONN, EPIPE and the like; above all ECONNABORTED, after the app was in the background.
    default: .networkConnectionLost
    }
  }

  private static func code(ofTLS status: Int32) -> URLError.Code {
    switch status {
    case -9807, -9808, -9843: .serverCertificateUntrusted  // XCertChainInvalid, BadCert, HostNameMismatch
    case -9812, -9813: .serverCertificateHasUnknownRoot  // UnknownRootCert, NoRootCert
    case -9814: .serverCertificateHasBadDate  // CertExpired
    case -9815: .serverCertificateNotYetValid  // CertNotYetValid
    // The peer's alerts about the client certificate, or the lack of one: PeerBadCert and those after it.
    case -9829 ... -9825: .clientCertificateRejected
    case -9806, -9805, -9816: .networkConnectionLost  // ClosedAbort, ClosedGraceful, ClosedNoNotify
    default: .secureConnectionFailed
    }
  }
}
