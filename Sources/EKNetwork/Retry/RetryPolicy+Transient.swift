import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RetryPolicy {
  /// Whether an error is of a kind that passes by itself: an overloaded or restarting server, a lost connection.
  ///
  /// A policy's `shouldRetry` may be this function. It says nothing about whether repeating the request is harmless:
  /// a POST whose connection was lost may have been carried out.
  public static func isTransient(_ error: Error) -> Bool {
    if error is NonRetriableError { return false }
    if let error = error as? HTTPError { return transientStatusCodes.contains(error.statusCode) }
    return error.urlErrorCode.map(transientCodes.contains) ?? false
  }

  static let transientStatusCodes: Set<Int> = [
    408,  // Request Timeout: the server gave up waiting for us (RFC 9110 §15.5.9).
    425,  // Too Early: to be repeated once the handshake is complete (RFC 8470 §5.2).
    429,  // Too Many Requests: come back later (RFC 6585 §4).
    500,  // Internal Server Error: often one bad moment, or one bad instance behind a balancer.
    502,  // Bad Gateway: the server behind it is restarting.
    503,  // Service Unavailable: temporary by definition (RFC 9110 §15.6.4).
    504,  // Gateway Timeout: the server behind it was too slow this time.
  ]

  static let transientCodes: Set<URLError.Code> = [
    .timedOut,  // The network or the server was too slow this time.
    .cannotConnectToHost,  // Refused: the server is restarting.
    .networkConnectionLost,  // The connection broke in the middle.
    .cannotFindHost,  // Name servers fail for moments, above all right after the network changed.
    .dnsLookupFailed,  // The same, by its other name.
    .notConnectedToInternet,  // Tunnels end.
    .internationalRoamingOff,  // The phone is about to find another network.
    .callIsActive,  // Calls end.
    .dataNotAllowed,  // Mobile data is about to be switched back to Wi-Fi.
    .badServerResponse,  // Nothing, or garbage, in place of a head: the server died while responding.
  ]
}
