import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
