import Dispatch
import Foundation

/// Converts counts of transferred bytes into a fraction worth publishing.
///
/// - It never goes backwards, even when a retry starts counting again, and stays below 1 until the request has
///   succeeded.
/// - A request body of 64 KiB or more is measured: the fraction is that of the upload, or of both directions if the
///   length of the response is announced. A smaller body is ignored, because it is in the kernel's buffer at once.
/// - A length that is missing, zero or negative is unknown, and one that is exceeded is not reported as a total.
/// - Transports report only the bytes of a success: the body of a 401 or of a redirect would use up the scale.
/// - The end of a download is not published until the request has succeeded: it may still be retried.
struct ProgressMeter: Sendable {
  enum Action: Equatable, Sendable {
    case none
    /// Publish it now.
    case publish(ProgressUpdate)
    /// Too early to publish: call ``flush(at:)`` after this time, in case nothing else follows.
    case flush(after: Duration)
  }

  /// The length in bytes from which a request body is measured.
  static let leadingBodyLength: Int64 = 65_536
  /// The minimum time between updates, for about 30 a second.
  static let interval = Duration.milliseconds(33)
  /// The greatest fraction of an unfinished request, which does not display as "100 %" when rounded to whole per cent.
  static let greatestUnfinished = 0.99

  private var sent = Count()
  private var received = Count()
  private var published = ProgressUpdate()
  private var rate = TransferRate()
  private var publishedAt: ContinuousClock.Instant?
  private var isFlushPending = false
  private var hasSucceeded = false

  private struct Count: Sendable {
    var bytes: Int64 = 0
    var total: Int64?

    init(_ bytes: Int64 = 0, of total: Int64? = nil) {
      self.bytes = max(bytes, 0)
      if let total, total > 0 { self.total = total }
    }

    /// The announced length; `nil` if it was exceeded, and is therefore unknown.
    var believedTotal: Int64? { total.flatMap { bytes <= $0 ? $0 : nil } }
    var fraction: Double? { total.map { Double(min(bytes, $0)) / Double($0) } }
    var isComplete: Bool { total.map { bytes >= $0 } ?? false }
  }

  /// Records the number of body bytes handed to the network in this attempt.
  mutating func sent(_ bytes: Int64, of total: Int64?, at now: ContinuousClock.Instant) -> Action {
    sent = Count(bytes, of: total)
    return changed(at: now)
  }

  /// Records the number of response bytes received in this attempt.
  mutating func received(_ bytes: Int64, of total: Int64?, at now: ContinuousClock.Instant) -> Action {
    received = Count(bytes, of: total)
    return changed(at: now)
  }

  /// Starts counting again for a retry; the fraction stays.
  mutating func restarted() {
    sent = Count()
    received = Count()
    rate.mark = nil
  }

  /// Publishes a delayed update, after the time of ``Action/flush(after:)``.
  mutating func flush(at now: ContinuousClock.Instant) -> Action {
    isFlushPending = false
    return changed(at: now)
  }

  /// Marks the request as successful: everything counted is complete.
  mutating func succeeded() -> Action {
    guard !hasSucceeded else { return .none }
    hasSucceeded = true
    published.fraction = 1
    // Those of this attempt: an earlier one may have counted more.
    published.completedBytes = bytes.completed
    published.totalBytes = bytes.completed
    return .publish(published)
  }

  private mutating func changed(at now: ContinuousClock.Instant) -> Action {
    let bytes = bytes
    if !hasSucceeded { rate.note(bytes.completed, at: now) }
    guard !hasSucceeded, !received.isComplete else { return .none }
    let fraction = fraction ?? 0
    guard fraction > published.fraction || bytes.completed > published.completedBytes else { return .none }
    if let publishedAt, now < publishedAt + Self.interval {
      guard !isFlushPending else { return .none }
      isFlushPending = true
      // A clock that was set back must not delay an update by more than the interval.
      return .flush(after: min(publishedAt + Self.interval - now, Self.interval))
    }
    published.fraction = max(published.fraction, fraction)
    published.completedBytes = max(published.completedBytes, bytes.completed)
    published.totalBytes = bytes.total.flatMap { published.completedBytes <= $0 ? $0 : nil }
    published.bytesPerSecond = rate.bytesPerSecond
    publishedAt = now
    return .publish(published)
  }

  private var uploadLeads: Bool { (sent.total ?? sent.bytes) >= Self.leadingBodyLength }

  private var bytes: (completed: Int64, total: Int64?) {
    guard uploadLeads else { return (received.bytes, received.believedTotal) }
    let total = sent.believedTotal.map { $0.addingClamped(received.believedTotal ?? 0) }
    return (sent.bytes.addingClamped(received.believedTotal == nil ? 0 : received.bytes), total)
  }

  /// The completed fraction of this attempt; `nil` if no relevant length is known.
  private var fraction: Double? {
    let ofBoth: Double?
    if let toSend = sent.total, toSend >= Self.leadingBodyLength {
      // In Double: two lengths near 2⁶³ do not overflow.
      let toReceive = Double(received.total ?? 0)
      let done = Double(min(sent.bytes, toSend)) + (received.fraction ?? 0) * toReceive
      ofBoth = done / (Double(toSend) + toReceive)
    } else {
      ofBoth = received.fraction
    }
    return ofBoth.map { min($0, Self.greatestUnfinished) }
  }
}

/// An estimate of the transfer rate, in which recent bytes have more weight than earlier ones.
struct TransferRate: Sendable {
  /// The time constant in seconds: after this time earlier measurements have about a third of the weight.
  static let memory = 2.0
  /// The minimum interval between measurements: shorter ones are inaccurate.
  static let interval = Duration.milliseconds(30)

  private(set) var bytesPerSecond: Double?
  fileprivate var mark: (bytes: Int64, at: ContinuousClock.Instant)?

  mutating func note(_ bytes: Int64, at now: ContinuousClock.Instant) {
    guard let mark else { return self.mark = (bytes, now) }
    guard now - mark.at >= Self.interval, bytes >= mark.bytes else { return }
    let seconds = (now - mark.at) / .seconds(1)
    // In Double: the difference of two counts does not overflow there.
    let current = (Double(bytes) - Double(mark.bytes)) / seconds
    let weight = 1 - exp(-seconds / Self.memory)
    bytesPerSecond = bytesPerSecond.map { $0 + weight * (current - $0) } ?? current
    self.mark = (bytes, now)
  }
}

/// Passes one request's byte counts, from any thread, through a meter to a progress.
final class ProgressReporter: Sendable {
  typealias Schedule = @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

  private let progress: NetworkProgress
  private let request: UInt64
  private let meter = Locked(ProgressMeter())
  private let now: @Sendable () -> ContinuousClock.Instant
  private let schedule: Schedule

  /// Creates a reporter, and resets the progress to 0.
  init(
    _ progress: NetworkProgress,
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    schedule: @escaping Schedule = ProgressReporter.scheduleOnGlobalQueue
  ) {
    self.progress = progress
    self.now = now
    self.schedule = schedule
    request = progress.reset()
  }

  /// A transport calls it with the number of body bytes sent so far.
  func sent(_ bytes: Int64, of total: Int64?) { perform { $0.sent(bytes, of: total, at: $1) } }

  /// As ``sent(_:of:)``, of the response's body.
  func received(_ bytes: Int64, of total: Int64?) { perform { $0.received(bytes, of: total, at: $1) } }

  func restarted() { meter.withLock { $0.restarted() } }

  /// Marks the request as successful. On Linux the progress is 1 when this returns.
  func succeeded() { perform { meter, _ in meter.succeeded() } }

  private func perform(_ change: (inout ProgressMeter, ContinuousClock.Instant) -> ProgressMeter.Action) {
    let now = now()
    // What follows is outside the lock: two threads may arrive there out of order, and the later update is kept.
    switch meter.withLock({ change(&$0, now) }) {
    case .none: break
    case .publish(var update):
      update.request = request
      progress.advance(to: update)
    case .flush(let delay): schedule(delay) { [weak self] in self?.perform { $0.flush(at: $1) } }
    }
  }

  /// Not on the main queue, whose thread may be blocked until the request ends.
  static let scheduleOnGlobalQueue: Schedule = { delay, action in
    let milliseconds = Int(delay / .milliseconds(1))
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .milliseconds(milliseconds + 1), execute: action)
  }
}
