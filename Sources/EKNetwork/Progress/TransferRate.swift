import Foundation

/// An estimate of the transfer rate, in which recent bytes have more weight than earlier ones.
struct TransferRate: Sendable {
  /// The time constant in seconds: after this time earlier measurements have about a third of the weight.
  static let memory = 2.0
  /// The minimum interval between measurements: shorter ones are inaccurate.
  static let interval = Duration.milliseconds(30)

  private(set) var bytesPerSecond: Double?
  private var mark: (bytes: Int64, at: ContinuousClock.Instant)?

  /// Records the number of bytes completed so far.
  mutating func note(_ bytes: Int64, at now: ContinuousClock.Instant) {
    guard let mark else {
      self.mark = (bytes, now)
      return
    }
    guard now - mark.at >= Self.interval, bytes >= mark.bytes else { return }
    let seconds = (now - mark.at) / .seconds(1)
    // In Double: the difference of two counts does not overflow there.
    let current = (Double(bytes) - Double(mark.bytes)) / seconds
    let weight = 1 - exp(-seconds / Self.memory)
    bytesPerSecond = bytesPerSecond.map { $0 + weight * (current - $0) } ?? current
    self.mark = (bytes, now)
  }

  /// Starts counting again, and keeps the rate.
  mutating func restart() { mark = nil }
}
