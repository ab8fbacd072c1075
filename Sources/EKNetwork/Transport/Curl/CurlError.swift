#if os(Linux)
  import CCurl
  import Foundation

  /// The mapping of libcurl's result codes to the error codes of Apple's platforms.
  enum CurlError {
    /// The properties of a failed transfer that determine its code.
    struct Failure: Error {
      var code: Int
      /// libcurl's own message.
      var text: String
      /// The status of a proxy's response to `CONNECT`; 0 if there was none.
      var proxyStatus = 0
      /// The `errno` of the last failed system call.
      var systemError = 0
      /// OpenSSL's verification result for the certificate (`X509_V_ERR_…`); 0 if there is none.
      var verifyResult = 0
      /// The same for the certificate of a proxy.
      var proxyVerifyResult = 0
      /// The path of the socket that was to be connected to, which libcurl's message does not name.
      var socketPath: String?
      /// Whether the connection was to lead through a proxy.
      var hasProxy = false
      /// Whether the server has asked for a certificate of the client, and there is none.
      var lacksCertificate = false
    }

    /// `CURLE_FAILED_INIT`, for a lack of memory or descriptors.
    static let noResources = 2
    /// `CURLE_HTTP2`, as for a GOAWAY that excludes the request.
    static let framingLoss = 16
    /// `CURLE_OPERATION_TIMEDOUT`.
    static let timeLimit = 28
    /// `CURLE_SSL_CONNECT_ERROR`.
    static let handshakeFailure = 35
    /// `CURLE_PARTIAL_FILE`.
    static let partialBody = 18
    /// `CURLE_GOT_NOTHING`.
    static let emptyReply = 52
    /// `CURLE_FILESIZE_EXCEEDED`.
    static let excess = 63
    /// `CURLE_HTTP2_STREAM`.
    static let streamReset = 92
    /// The codes for a connection that ended before a response began: with `CURLE_SEND_ERROR` and `CURLE_RECV_ERROR`,
    /// and on HTTP/2 ``partialBody`` as well.
    static let connectionLosses: Set<Int> = [framingLoss, partialBody, emptyReply, 55, 56]

    /// Returns the error for the user: the code that an Apple developer expects, with libcurl's message.
    static func urlError(_ failure: Failure, url: URL?) -> URLError {
      let code = urlErrorCode(failure)
      // Only the opening of a connection has a limit of libcurl's.
      let isUnsent = failure.code == handshakeFailure || failure.code == timeLimit
      return URLError(code, url: url, description: text(failure), cause: isUnsent ? UnsentRequestError() : nil)
    }

    /// libcurl's message, or one for a user where libcurl's speaks of its own inside.
    static func text(_ failure: Failure) -> String {
      // From 8.21 on, code 43 also stands for an invalid key of a client certificate.
      if failure.code == 43, failure.text.contains("private key") { return failure.text }
      if let explanation = failure.explanation { return explanation }
      return failure.hasProxy ? texts[failure.code] ?? failure.text : failure.text
    }

    /// Of a proxy's response to `CONNECT`, the only one that libcurl reads. Without a proxy the codes stand for something else.
    private static let texts = [
      // Of a lack of memory libcurl says the same.
      27: "A line of the proxy's response is longer than 100 KB, or libcurl has no memory",
      43: "The proxy's response has a line that is no header field: the proxy has to be corrected",
      100: "A line of the proxy's response is longer than 100 KB",
    ]

    static func urlErrorCode(_ failure: Failure) -> URLError.Code {
      if let refusal = failure.certificateRefusal { return refusal }
      if failure.code != 4, URLError.proxyRefusal(failure.text) != nil { return .badURL }
      return switch failure.code {
      // libcurl's URL parser is stricter than Foundation's.
      case 3: .badURL
      // The feature is not built into this libcurl.
      case 4: .unsupportedURL
      // The name of the proxy, or of the host.
      case 5, 6: failure.text.contains("thread failed to start") ? .resourceUnavailable : .cannotFindHost
      // From 8.21 on, also a proxy that opens no tunnel, or requires authentication (RFC 9110 §15.5.8).
      case 7: failure.proxyStatus == 407 ? .userAuthenticationRequired : .cannotConnectToHost
      // The interface is not there; the handshake with the proxy failed.
      case 45, 97: .cannotConnectToHost
      // From 8.21 on, an invalid key of a client certificate.
      case 43 where failure.text.contains("private key"): .clientCertificateRejected
      // What a proxy sends is not HTTP, has a malformed field, or an unwanted coding. Options are checked before.
      case 1, 8, 43, 61: .badServerResponse
      case framingLoss: .badServerResponse
      // RFC 9113 §8.1.1: a malformed response is a stream error of this kind.
      case streamReset where failure.text.contains("PROTOCOL_ERROR"): .badServerResponse
      case partialBody, emptyReply, streamReset: .networkConnectionLost
      // Sending failed; TLS did not shut down.
      case 55, 80: .networkConnectionLost
      case 56: receiveCode(failure)
      case noResources: .resourceUnavailable
      // A line is too long, in older and in newer versions. Without a proxy there is none, and libcurl has no memory.
      case 27 where !failure.hasProxy: .resourceUnavailable
      case 27, 100, excess: .dataLengthExceedsMaximum
      case timeLimit: .timedOut
      case handshakeFailure: handshakeCode(failure)
      // The TLS engine is missing or does not work, there is no common cipher, TLS is required and not there, or a file of
      // authorities or of revoked certificates cannot be read.
      case 53, 54, 59, 64, 66, 77, 82: .secureConnectionFailed
      case 58: .clientCertificateRejected
      case 60: certificateCode(failure.verifyResult == 0 ? failure.proxyVerifyResult : failure.verifyResult)
      // The issuer, the pinned key or the status of the certificate is not as it has to be.
      case 83, 90, 91: .serverCertificateUntrusted
      case 98: .clientCertificateRequired
      default: .unknown
      }
    }

    /// Maps `CURLE_RECV_ERROR`, which stands both for a broken connection and for invalid framing.
    private static func receiveCode(_ failure: Failure) -> URLError.Code {
      // RFC 9110 §15.5.8: the proxy requires authentication.
      if failure.proxyStatus == 407 { return .userAuthenticationRequired }
      // The tunnel through a proxy was not opened, so nothing has been sent to the host.
      if failure.proxyStatus >= 300 || failure.text.contains("CONNECT") { return .cannotConnectToHost }
      // Several versions limit the size of all heads, those of interim responses included.
      if failure.text.hasPrefix("Too large response headers") { return .dataLengthExceedsMaximum }
      let isFraming = ["chunk", "header", "status line"].contains { failure.text.localizedCaseInsensitiveContains($0) }
      return isFraming ? .badServerResponse : .networkConnectionLost
    }

    /// Maps `CURLE_SSL_CONNECT_ERROR`, which also stands for a connection that was closed in the middle of the handshake:
    /// what forwards connections does that while the server behind it restarts.
    private static func handshakeCode(_ failure: Failure) -> URLError.Code {
      // The texts of OpenSSL, GnuTLS and the system.
      let isLoss = [
        "SSL_ERROR_SYSCALL", "SSL_ERROR_ZERO_RETURN", "unexpected eof", "non-properly terminated", "reset by peer",
        "broken pipe",
      ].contains { failure.text.localizedCaseInsensitiveContains($0) }
      return isLoss ? .networkConnectionLost : .secureConnectionFailed
    }

    /// Maps `CURLE_PEER_FAILED_VERIFICATION` by OpenSSL's verification result; 0 means a certificate for another host.
    private static func certificateCode(_ verifyResult: Int) -> URLError.Code {
      switch verifyResult {
      case 9: .serverCertificateNotYetValid
      case 10: .serverCertificateHasBadDate
      case 2, 19, 20, 21: .serverCertificateHasUnknownRoot
      default: .serverCertificateUntrusted
      }
    }
  }

  extension CurlError.Failure {
    /// The alerts with which a server refuses the certificate of the client, or that it has none (RFC 8446 §6.2), in
    /// OpenSSL's words. Its versions have different ones before them.
    private static let alerts: [(text: String, code: URLError.Code)] = [
      ("alert certificate required", .clientCertificateRequired),
      ("alert bad certificate", .clientCertificateRejected),
      ("alert unsupported certificate", .clientCertificateRejected),
      ("alert certificate expired", .clientCertificateRejected),
      ("alert certificate revoked", .clientCertificateRejected),
      ("alert certificate unknown", .clientCertificateRejected),
      ("alert unknown ca", .clientCertificateRejected),
      ("alert access denied", .clientCertificateRejected),
    ]

    /// The error if the server refuses the certificate of the client, or that it has none; it would do so again.
    ///
    /// In TLS 1.3 the client has finished its handshake before (RFC 8446 §2): the alert comes in place of the response.
    var certificateRefusal: URLError.Code? {
      guard [CurlError.handshakeFailure, 55, 56].contains(code) else { return nil }
      // TLS 1.2 has no alert of its own for it (RFC 5246 §7.4.6).
      if lacksCertificate, text.contains("alert handshake failure") { return .clientCertificateRequired }
      let refusal = Self.alerts.first { text.contains($0.text) }?.code
      return lacksCertificate && refusal != nil ? .clientCertificateRequired : refusal
    }

    /// Returns what to report if receiving has failed in this way after sending has failed. An alert says why the server ends
    /// the connection (RFC 8446 §6.2), which it resets if it has not read everything.
    func following(_ sending: CurlError.Failure?) -> CurlError.Failure {
      text.contains(" alert ") ? self : sending ?? self
    }

    /// What OpenSSL and GnuTLS say of a peer whose first bytes are not those of TLS.
    private static let plainPeer = ["wrong version number", "packet length too long", "unexpected TLS packet"]

    /// What libcurl's message means, or leaves out; `nil` if it says enough.
    fileprivate var explanation: String? {
      switch certificateRefusal {
      case nil: break
      case .clientCertificateRequired?: return "The server requires a client certificate (\(text))"
      default: return "The server does not accept the client certificate, or that there is none (\(text))"
      }
      if let refusal = URLError.proxyRefusal(text) { return refusal }
      if proxyStatus >= 300, [7, 56].contains(code) {
        return "The proxy refuses the connection with the status \(proxyStatus) (\(text))"
      }
      switch code {
      case 7:
        let reason = systemError == 0 ? nil : String(cString: strerror(Int32(truncatingIfNeeded: systemError)))
        if let socketPath { return "Failed to connect to the socket \(socketPath): \(reason ?? text)" }
        // Otherwise the proxy was reached, and opened no tunnel.
        guard !text.contains("CONNECT") else { return nil }
        // Most versions of libcurl only say that the server cannot be connected to.
        let full = reason.flatMap { text.contains($0) ? nil : "\(text) (\($0))" } ?? text
        return hasProxy && proxyStatus == 0 ? "The proxy cannot be reached: \(full)" : full
      case 60 where proxyVerifyResult != 0: return "The certificate of the proxy is refused (\(text))"
      case CurlError.handshakeFailure where Self.plainPeer.contains(where: text.contains):
        return "The server\(hasProxy ? ", or its proxy," : "") does not speak TLS on this port (\(text))"
      default: return nil
      }
    }

    /// Creates it from what libcurl reports of a handle.
    init(code: Int, of easy: OpaquePointer, errorText: UnsafePointer<CChar>) {
      let text = String(cString: errorText)
      self.init(
        code: code, text: text.isEmpty ? String(cString: ekn_easy_strerror(Int32(code))) : text,
        proxyStatus: ekn_easy_info_long(easy, Int32(EKN_INFO_HTTP_CONNECTCODE)),
        systemError: ekn_easy_info_long(easy, Int32(EKN_INFO_OS_ERRNO)),
        verifyResult: ekn_easy_info_long(easy, Int32(EKN_INFO_SSL_VERIFYRESULT)),
        proxyVerifyResult: ekn_easy_info_long(easy, Int32(EKN_INFO_PROXY_SSL_VERIFYRESULT)))
    }
  }
#endif
