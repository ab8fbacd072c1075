import Foundation

/// An estimate of how fast bytes flow: what was moved lately counts more than what was moved before.
struct TransferRate: Sendable {
  /// After so many seconds what was before counts for a third.
  static let memory = 2.0
  /// Moments that are closer together say little.
  static let interval = Duration.milliseconds(30)

  private(set) var bytesPerSecond: Double?
  private var mark: (bytes: Int64, at: ContinuousClock.Instant)?

  /// So many bytes are done.
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

  /// The bytes start again. What was learned of the rate stays.
  mutating func restart() { mark = nil }
}
