import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLError {
  /// An error of the transport's own, with the URL that it is about.
  init(_ code: Code, url: URL?, description: String? = nil) {
    var userInfo: [String: Any] = [:]
    if let url { userInfo[NSURLErrorFailingURLErrorKey] = url }
    if let description { userInfo[NSLocalizedDescriptionKey] = description }
    self.init(code, userInfo: userInfo)
  }

  func replacingURL(with url: URL?) -> URLError {
    var userInfo = errorUserInfo
    userInfo[NSURLErrorFailingURLErrorKey] = url
    return URLError(code, userInfo: userInfo)
  }

  static func timedOut(_ url: URL?) -> URLError {
    URLError(.timedOut, url: url, description: "The request timed out.")
  }

  /// The error of a task as an Apple developer knows it.
  ///
  /// On Linux most failures are `URLError.unknown`, and only libcurl's text tells them apart; the text stays as the
  /// description. What is not a `URLError`, such as an error of a custom `URLProtocol`, passes through.
  static func mapped(_ error: any Error, url: URL?) -> any Error {
    let nsError = error as NSError
    if nsError.domain == NSPOSIXErrorDomain { return posix(nsError, url: url) }
    #if canImport(Darwin)
      return error
    #else
      guard nsError.domain == NSURLErrorDomain else { return error }
      var userInfo = nsError.userInfo
      if userInfo[NSURLErrorFailingURLErrorKey] == nil, let url { userInfo[NSURLErrorFailingURLErrorKey] = url }
      let text = userInfo[NSLocalizedDescriptionKey] as? String ?? ""
      let code = corrected(Code(rawValue: nsError.code) ?? .unknown, text: text)
      return URLError(code, userInfo: userInfo)
    #endif
  }

  /// What the system says of a socket, mostly of one that died while the app was in the background.
  private static func posix(_ error: NSError, url: URL?) -> any Error {
    guard let code = POSIXErrorCode(rawValue: Int32(truncatingIfNeeded: error.code)) else { return error }
    var userInfo = error.userInfo
    if let url { userInfo[NSURLErrorFailingURLErrorKey] = url }
    userInfo[NSUnderlyingErrorKey] = error
    return URLError(NetworkFailure.code(of: code), userInfo: userInfo)
  }

  /// The error of a session that cannot send this request, or none.
  static func unusable(_ url: URL?, _ description: String) -> URLError {
    URLError(.resourceUnavailable, url: url, description: description)
  }

  /// The code that `text`, one of libcurl's messages, stands for.
  static func corrected(_ code: Code, text: String) -> Code {
    let text = text.lowercased()
    switch code {
    case .unknown:
      return messages.first { text.contains($0.part) }?.code ?? .unknown
    case .badServerResponse where text.contains("empty reply"):
      // The server closed without a word. Apple says -1005, and so can a retry policy.
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
    // OpenSSL's X.509 verification results, as libcurl prints them.
    ("certificate has expired", .serverCertificateHasBadDate),
    ("certificate is not yet valid", .serverCertificateNotYetValid),
    // The leaf vouches for itself; Apple calls it untrusted.
    ("ssl certificate problem: self-signed certificate in", .serverCertificateHasUnknownRoot),
    ("ssl certificate problem: self signed certificate in", .serverCertificateHasUnknownRoot),
    ("unable to get local issuer", .serverCertificateHasUnknownRoot),
    ("unable to get issuer", .serverCertificateHasUnknownRoot),
    ("certificate problem", .serverCertificateUntrusted),
    // The name in the certificate is another host's.
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
    // What came is not HTTP.
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
    // A line of more than 100 KB; libcurl's buffer says so in this way.
    ("out of memory", .badServerResponse),
    // The handshake failed. After the certificates, whose messages also name SSL.
    ("ssl", .secureConnectionFailed),
    ("tls", .secureConnectionFailed),
    ("wrong version number", .secureConnectionFailed),
    ("resolve host", .cannotFindHost),
    ("failed to connect", .cannotConnectToHost),
    ("timed out", .timedOut),
  ]
}
