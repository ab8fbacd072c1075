import Foundation

extension Duration {
  /// Creates the time between two measured moments; `nil` if one is missing, or they are in the wrong order.
  init?(from start: Date?, to end: Date?) {
    guard let start, let end, end >= start else { return nil }
    self = .seconds(end.timeIntervalSince(start))
  }
}

#if canImport(Darwin)
  extension NetworkTimings {
    /// Creates the timings that the system measured for a task's last exchange.
    init?(_ metrics: URLSessionTaskMetrics) {
      guard let last = metrics.transactionMetrics.last, let start = last.fetchStartDate else { return nil }
      self.init(
        nameLookup: Duration(from: last.domainLookupStartDate, to: last.domainLookupEndDate),
        connect: Duration(from: last.connectStartDate, to: last.secureConnectionStartDate ?? last.connectEndDate),
        secureConnect: Duration(from: last.secureConnectionStartDate, to: last.secureConnectionEndDate),
        firstByte: Duration(from: start, to: last.responseStartDate),
        total: Duration(from: start, to: last.responseEndDate) ?? .seconds(metrics.taskInterval.duration),
        isConnectionReused: last.isReusedConnection,
        protocolName: last.networkProtocolName,
        remoteAddress: last.remoteAddress)
    }
  }
#endif
