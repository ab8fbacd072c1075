import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Why a connection of Apple's Network framework did not open, or ended; and what `URLSession` passes on of it.
enum NetworkFailure: Error, Equatable {
  case posix(POSIXErrorCode)
  /// A number of dns_sd: `kDNSServiceErr_…`.
  case dns(Int32)
  /// A number of Secure Transport: `errSSL…`.
  case tls(Int32)
  case other

  /// As an Apple developer knows it from `URLSession`. What passes by itself has the code of a transient failure.
  var code: URLError.Code {
    switch self {
    case .posix(let code): Self.code(of: code)
    case .dns: .cannotFindHost
    case .tls(let status): Self.code(ofTLS: status)
    case .other: .cannotConnectToHost
    }
  }

  /// Whether it only says that this side has ended the connection.
  var isCancellation: Bool { self == .posix(.ECANCELED) }

  /// Whether it only says that the peer has ended the connection cleanly: nothing more is to be read.
  var isEnd: Bool { self == .posix(.ENODATA) }

  static func code(of error: POSIXErrorCode) -> URLError.Code {
    switch error {
    case .ECONNREFUSED, .EHOSTUNREACH, .EHOSTDOWN, .EADDRNOTAVAIL: .cannotConnectToHost
    case .ENETDOWN, .ENETUNREACH: .notConnectedToInternet
    case .ETIMEDOUT: .timedOut
    // ECONNRESET, ENOTCONN, EPIPE and the like; ECONNABORTED above all, after an app was in the background.
    default: .networkConnectionLost
    }
  }

  private static func code(ofTLS status: Int32) -> URLError.Code {
    switch status {
    case -9807, -9808, -9843: .serverCertificateUntrusted  // XCertChainInvalid, BadCert, HostNameMismatch
    case -9812, -9813: .serverCertificateHasUnknownRoot  // UnknownRootCert, NoRootCert
    case -9814: .serverCertificateHasBadDate  // CertExpired
    case -9815: .serverCertificateNotYetValid  // CertNotYetValid
    // The peer's words about the certificate that it was shown, or was not: PeerBadCert and those after it.
    case -9829 ... -9825: .clientCertificateRejected
    case -9806, -9805, -9816: .networkConnectionLost  // ClosedAbort, ClosedGraceful, ClosedNoNotify
    default: .secureConnectionFailed
    }
  }
}
