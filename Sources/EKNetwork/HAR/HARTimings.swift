/// The phases of an exchange in milliseconds, with the names of HAR 1.2. `nil` for a phase that did not happen or is
/// unknown.
struct HARTimings: Sendable, Equatable {
  /// The time spent waiting for a connection.
  var blocked: Double?
  var dns: Double?
  /// Includes ``ssl``, as HAR specifies.
  var connect: Double?
  var ssl: Double?
  /// Included in ``wait``: it is not measured separately.
  var send = 0.0
  var wait: Double
  var receive: Double

  /// - Parameters:
  ///   - head: From the request to the response's head.
  ///   - total: From the request to the end of the body.
  ///   - network: The timings of the connection, from when the request had one.
  init(head: Duration, total: Duration, network: NetworkTimings?) {
    guard let network, let firstByte = network.firstByte else {
      wait = Self.milliseconds(head)
      receive = Self.milliseconds(total - head)
      return
    }
    let connecting = (network.connect ?? .zero) + (network.secureConnect ?? .zero)
    blocked = Self.milliseconds(head - firstByte)
    dns = network.nameLookup.map(Self.milliseconds)
    connect = network.connect == nil && network.secureConnect == nil ? nil : Self.milliseconds(connecting)
    ssl = network.secureConnect.map(Self.milliseconds)
    wait = Self.milliseconds(firstByte - (network.nameLookup ?? .zero) - connecting)
    receive = Self.milliseconds(network.total - firstByte)
  }

  /// The total that HAR requires; ``ssl`` is included in ``connect``.
  var time: Double { (blocked ?? 0) + (dns ?? 0) + (connect ?? 0) + send + wait + receive }

  private static func milliseconds(_ duration: Duration) -> Double {
    let (seconds, attoseconds) = duration.sleepable.components
    return Double(seconds) * 1000 + Double(attoseconds / 1_000_000_000_000) / 1000
  }
}
