#if canImport(Darwin)
  import Foundation

  extension NetworkTimings {
    /// What the system measured of a task's last exchange.
    init?(_ metrics: URLSessionTaskMetrics) {
      guard let last = metrics.transactionMetrics.last, let start = last.fetchStartDate else { return nil }
      func duration(_ from: Date?, _ to: Date?) -> Duration? {
        guard let from, let to, to >= from else { return nil }
        return .seconds(to.timeIntervalSince(from))
      }
      self.init(
        nameLookup: duration(last.domainLookupStartDate, last.domainLookupEndDate),
        connect: duration(last.connectStartDate, last.secureConnectionStartDate ?? last.connectEndDate),
        secureConnect: duration(last.secureConnectionStartDate, last.secureConnectionEndDate),
        firstByte: duration(start, last.responseStartDate),
        total: duration(start, last.responseEndDate) ?? .seconds(metrics.taskInterval.duration),
        isConnectionReused: last.isReusedConnection,
        protocolName: last.networkProtocolName,
        remoteAddress: last.remoteAddress)
    }
  }
#endif
