#if os(Linux)
  import CCurl
  import Foundation

  /// The mapping of libcurl's result codes to the error codes of Apple's platforms.
  enum CurlError {
    /// The properties of a failed transfer that determine its code.
    struct Failure {
      var code: Int
      /// libcurl's own message.
      var text: String
      /// The status of a proxy's response to `CONNECT`; 0 if there was none.
      var proxyStatus = 0
      /// The `errno` of the last failed system call.
      var systemError = 0
      /// OpenSSL's verification result for the certificate (`X509_V_ERR_…`); 0 if there is none.
      var verifyResult = 0
      /// The path of the socket that was to be connected to, which libcurl's message does not name.
      var socketPath: String?
      /// Whether the connection was to lead through a proxy.
      var hasProxy = false
    }

    /// `CURLE_HTTP2`, which libcurl reports for a GOAWAY that excludes the request.
    static let framingLoss = 16
    /// `CURLE_OPERATION_TIMEDOUT`.
    static let timeLimit = 28
    /// `CURLE_SSL_CONNECT_ERROR`.
    static let handshakeFailure = 35
    /// `CURLE_PARTIAL_FILE`.
    static let partialBody = 18
    /// `CURLE_GOT_NOTHING`.
    static let emptyReply = 52
    /// The codes for a connection that ended before a response began: with `CURLE_SEND_ERROR` and `CURLE_RECV_ERROR`,
    /// and on HTTP/2 ``partialBody`` as well.
    static let connectionLosses: Set<Int> = [framingLoss, partialBody, emptyReply, 55, 56]

    /// Returns the error for the user: the code that an Apple developer expects, with libcurl's message.
    static func urlError(_ failure: Failure, url: URL) -> URLError {
      let code = urlErrorCode(failure)
      let isHandshakeLoss = failure.code == handshakeFailure && code == .networkConnectionLost
      // Only the opening of a connection has a limit of libcurl's.
      let isUnsent = isHandshakeLoss || failure.code == timeLimit
      return URLError(code, url: url, description: text(failure), cause: isUnsent ? UnsentRequestError() : nil)
    }

    /// libcurl's message, or one for a user where libcurl's speaks of its own inside.
    static func text(_ failure: Failure) -> String {
      // From 8.21 on, code 43 also stands for an invalid key of a client certificate.
      if failure.code == 43, failure.text.contains("private key") { return failure.text }
      if let explanation = failure.explanation { return explanation }
      return texts[failure.code] ?? failure.text
    }

    private static let texts = [
      // Of a lack of memory libcurl says the same.
      27: "A line of the response head is longer than 100 KB, or libcurl has no memory: let the server send less",
      43: "The response head has a line that is no header field: the server has to be corrected",
      65: "The connection was lost, and the body cannot be sent again: use one that can be read twice, such as a file",
      100: "A line of the response head is longer than 100 KB: let the server send less in one field",
    ]

    static func urlErrorCode(_ failure: Failure) -> URLError.Code {
      if let refusal = failure.certificateRefusal { return refusal }
      return switch failure.code {
      case 60: certificateCode(failure.verifyResult)
      case 7: connectCode(failure)
      case 56: receiveCode(failure)
      case handshakeFailure: handshakeCode(failure)
      // RFC 9113 §8.1.1: a malformed response is a stream error of this kind. The texts of several versions.
      case 92 where ["PROTOCOL_ERROR", "Invalid HTTP header field"].contains { failure.text.contains($0) }:
        .badServerResponse
      // From 8.21 on, an invalid key of a client certificate.
      case 43 where failure.text.contains("private key"): .clientCertificateRejected
      default: codes[failure.code]?.code ?? .unknown
      }
    }

    /// Maps `CURLE_COULDNT_CONNECT`, which from 8.21 on also stands for a proxy that opens no tunnel.
    private static func connectCode(_ failure: Failure) -> URLError.Code {
      // RFC 9110 §15.5.8: the proxy requires authentication.
      failure.proxyStatus == 407 ? .userAuthenticationRequired : .cannotConnectToHost
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

    /// The result codes that a transfer can end with, and why they map as they do.
    static let codes: [Int: (code: URLError.Code, reason: String)] = [
      1: (.badServerResponse, "the scheme was checked before; what is left is HTTP/0.9 or another protocol's greeting"),
      2: (.unknown, "libcurl could not be initialised"),
      3: (.badURL, "libcurl's URL parser is stricter than Foundation's"),
      4: (.unsupportedURL, "the feature is not built into this libcurl"),
      5: (.cannotFindHost, "the proxy's name does not resolve"),
      6: (.cannotFindHost, "the host's name does not resolve"),
      7: (.cannotConnectToHost, "refused, unreachable, or rejected by the proxy"),
      8: (.badServerResponse, "the response does not begin like HTTP"),
      16: (.badServerResponse, "HTTP/2 framing is broken"),
      18: (.networkConnectionLost, "the connection ended before the announced length"),
      22: (.badServerResponse, "an HTTP error where libcurl does not expect one"),
      23: (.unknown, "a callback stopped the transfer and left its own reason"),
      26: (.requestBodyStreamExhausted, "the request body could not be read"),
      27: (.dataLengthExceedsMaximum, "libcurl for a header line past 100 KB"),
      28: (.timedOut, "a time limit of libcurl's own"),
      35: (.secureConnectionFailed, "the TLS handshake failed"),
      42: (.unknown, "a callback stopped the transfer and left its own reason"),
      43: (.badServerResponse, "options are checked before; what is left is a malformed header line"),
      45: (.cannotConnectToHost, "the chosen interface is not there"),
      47: (.httpTooManyRedirects, "not expected: the library follows redirects itself"),
      52: (.networkConnectionLost, "the server closed without a byte of a response"),
      53: (.secureConnectionFailed, "the TLS engine is missing"),
      54: (.secureConnectionFailed, "the TLS engine cannot be used"),
      55: (.networkConnectionLost, "the connection broke while sending"),
      58: (.clientCertificateRejected, "the client certificate cannot be used"),
      59: (.secureConnectionFailed, "no common cipher"),
      61: (.badServerResponse, "content is not decoded below; what is left is an unwanted transfer coding"),
      63: (.dataLengthExceedsMaximum, "longer than a size limit"),
      64: (.secureConnectionFailed, "TLS is required and not there"),
      65: (.networkConnectionLost, "the connection died and the body cannot be sent again"),
      66: (.secureConnectionFailed, "the TLS engine did not start"),
      77: (.secureConnectionFailed, "the file of trusted certificates cannot be read"),
      80: (.networkConnectionLost, "the TLS connection did not shut down"),
      82: (.secureConnectionFailed, "the revocation list cannot be read"),
      83: (.serverCertificateUntrusted, "the issuer check failed"),
      88: (.badServerResponse, "the chunked framing is broken"),
      90: (.serverCertificateUntrusted, "the pinned key does not match"),
      91: (.serverCertificateUntrusted, "the certificate's status is invalid"),
      92: (.networkConnectionLost, "the HTTP/2 stream was reset"),
      96: (.cannotConnectToHost, "the QUIC connection failed"),
      97: (.cannotConnectToHost, "the proxy handshake failed"),
      98: (.clientCertificateRequired, "the server asks for a client certificate"),
      100: (.dataLengthExceedsMaximum, "newer versions for a line of the head past their limit"),
    ]
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
      return Self.alerts.first { text.contains($0.text) }?.code
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
      switch code {
      case 7:
        if let socketPath {
          let reason = systemError == 0 ? text : String(cString: strerror(Int32(truncatingIfNeeded: systemError)))
          return "Failed to connect to the socket \(socketPath): \(reason)"
        }
        // Otherwise the proxy was reached, and opened no tunnel.
        let isProxy = hasProxy && proxyStatus == 0 && !text.contains("CONNECT")
        return isProxy ? "The proxy cannot be reached: \(text)" : nil
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
        verifyResult: ekn_easy_info_long(easy, Int32(EKN_INFO_SSL_VERIFYRESULT)))
    }
  }
#endif
