import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The part of a `URLSessionConfiguration` that describes how requests are made, read once.
struct SessionDescription: Sendable {
  let requestTimeout: TimeInterval
  let resourceTimeout: Duration?
  let additionalHeaders: [(name: String, value: String)]
  let connectionsPerHost: Int
  let cookies: SessionCookies
  /// `nil` leaves the choice to the system: on Linux to the environment.
  let proxies: SessionProxies?

  init(_ configuration: URLSessionConfiguration) {
    requestTimeout = configuration.timeoutIntervalForRequest
    resourceTimeout = configuration.resourceTimeout
    connectionsPerHost = min(max(1, configuration.httpMaximumConnectionsPerHost), 10_000)
    additionalHeaders = (configuration.httpAdditionalHeaders ?? [:])
      .map { (name: "\($0.key)", value: "\($0.value)") }
      .sorted { $0.name < $1.name }
    cookies = SessionCookies(configuration: configuration)
    proxies = configuration.connectionProxyDictionary.map(SessionProxies.init)
  }
}

extension SessionDescription {
  /// The request with the session's own fields and cookies, where it has none of its own.
  func completed(_ request: URLRequest) -> URLRequest {
    var request = request
    cookies.apply(to: &request)
    for (name, value) in additionalHeaders where request.value(forHTTPHeaderField: name) == nil {
      request.setValue(value, forHTTPHeaderField: name)
    }
    return request
  }
}

extension Duration {
  /// The whole duration in nanoseconds, within what 64 bits can hold.
  var clampedNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? .max : product.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000).partialValue
  }
}
