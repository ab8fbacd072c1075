import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RetryPolicy {
  /// Returns whether an error is likely to be transient: 408, 425, 429, 500, 502, 503 and 504; connections that could
  /// not be opened, were lost or timed out; and responses that are not valid HTTP.
  ///
  /// It can be used as a policy's `shouldRetry`. It does not tell whether repeating the request is safe: a POST whose
  /// connection was lost may have been carried out.
  public static func isTransient(_ error: Error) -> Bool {
    if error is NonRetriableError { return false }
    if let error = error as? HTTPError { return transientStatusCodes.contains(error.statusCode) }
    return error.urlErrorCode.map(transientCodes.contains) ?? false
  }

  static let transientStatusCodes: Set<Int> = [
    408,  // Request Timeout: the server stopped waiting for the request (RFC 9110 §15.5.9).
    425,  // Too Early: to be repeated once the handshake is complete (RFC 8470 §5.2).
    429,  // Too Many Requests: retry later (RFC 6585 §4).
    500,  // Internal Server Error: often momentary, or from one bad instance behind a load balancer.
    502,  // Bad Gateway: the server behind it is restarting.
    503,  // Service Unavailable: temporary by definition (RFC 9110 §15.6.4).
    504,  // Gateway Timeout: the server behind it was too slow this time.
  ]

  static let transientCodes: Set<URLError.Code> = [
    .timedOut,  // The network or the server was too slow this time.
    .cannotConnectToHost,  // Refused: the server is restarting.
    .networkConnectionLost,  // The connection broke in the middle.
    .cannotFindHost,  // Name servers fail briefly, above all right after a network change.
    .dnsLookupFailed,  // The same under another name.
    .notConnectedToInternet,  // The device is briefly offline, such as in a tunnel.
    .internationalRoamingOff,  // The phone is about to find another network.
    .callIsActive,  // Mobile data is suspended during a phone call.
    .dataNotAllowed,  // Mobile data is about to be switched back to Wi-Fi.
    .badServerResponse,  // No response head, or an invalid one: the server failed while responding.
  ]
}
