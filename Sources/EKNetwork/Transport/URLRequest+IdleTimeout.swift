import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension URLRequest {
  /// How long the exchange may stand still; `nil` for ever.
  ///
  /// The request's own `timeoutInterval` counts where it differs from the documented default of 60 seconds, else the
  /// configuration's `timeoutIntervalForRequest`. What is not a positive, finite number of seconds means no limit.
  func idleTimeout(in configuration: URLSessionConfiguration) -> Duration? {
    idleTimeout(default: configuration.timeoutIntervalForRequest)
  }

  /// The same, with the configuration's value at hand.
  func idleTimeout(default configured: TimeInterval) -> Duration? {
    Duration(timeInterval: timeoutInterval == Self.unsetTimeout ? configured : timeoutInterval)
  }

  /// Sets a timeout that is meant, even one of as many seconds as a request starts with.
  mutating func setOwnTimeout(_ interval: TimeInterval) {
    timeoutInterval = interval == Self.unsetTimeout ? interval.nextUp : interval
  }

  /// What a request starts with.
  private static let unsetTimeout: TimeInterval = 60
}

extension URLSessionConfiguration {
  /// `timeoutIntervalForResource`; `nil` where it is not a positive, finite number of seconds.
  var resourceTimeout: Duration? { Duration(timeInterval: timeoutIntervalForResource) }
}
