import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// Returns how long the exchange may be idle, or `nil` for no limit.
  ///
  /// The request's own `timeoutInterval` is used if it differs from the documented default of 60 seconds, otherwise the
  /// configuration's `timeoutIntervalForRequest`. A value that is not a positive, finite number of seconds means no
  /// limit.
  func idleTimeout(in configuration: URLSessionConfiguration) -> Duration? {
    idleTimeout(default: configuration.timeoutIntervalForRequest)
  }

  /// Returns how long the exchange may be idle, given the configuration's value.
  func idleTimeout(default configured: TimeInterval) -> Duration? {
    Duration(timeInterval: timeoutInterval == Self.unsetTimeout ? configured : timeoutInterval)
  }

  /// Sets a timeout that applies even if it equals the default of a new request.
  mutating func setOwnTimeout(_ interval: TimeInterval) {
    timeoutInterval = interval == Self.unsetTimeout ? interval.nextUp : interval
  }

  /// The timeout of a new request.
  private static let unsetTimeout: TimeInterval = 60
}

extension URLSessionConfiguration {
  /// The value of `timeoutIntervalForResource`; `nil` if it is not a positive, finite number of seconds.
  var resourceTimeout: Duration? { Duration(timeInterval: timeoutIntervalForResource) }
}
