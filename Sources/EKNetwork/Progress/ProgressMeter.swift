/// Turns bytes on the wire into a fraction worth publishing.
///
/// - It never goes backwards, also when a retry starts the bytes again, and stays below 1 until the request succeeded.
/// - A body of 64 KiB or more leads: the fraction is that of the upload, or of both directions when the download's
///   length is announced. A smaller one says nothing, because it is with the kernel at once.
/// - A length that is missing, zero or negative is unknown, and one that is exceeded has lied: neither is believed.
/// - The end of a download is not published, for it is only news if the response is a success: otherwise the short body
///   of a 401 or of a redirect would use up the whole scale.
struct ProgressMeter: Sendable {
  /// What to do with the fraction.
  enum Action: Equatable, Sendable {
    case none
    /// Publish it now.
    case publish(ProgressUpdate)
    /// It is too early to publish: call ``flush(at:)`` after this time, in case that nothing else follows.
    case flush(after: Duration)
  }

  /// From this length on, in bytes, a body leads.
  static let leadingBodyLength: Int64 = 65_536
  /// About 30 times a second.
  static let interval = Duration.milliseconds(33)
  /// What is not finished does not read "100 %", rounded to whole per cent.
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

    /// What a length that is exceeded was meant to be is unknown.
    var believedTotal: Int64? { total.flatMap { bytes <= $0 ? $0 : nil } }
    var fraction: Double? { total.map { Double(min(bytes, $0)) / Double($0) } }
    var isComplete: Bool { total.map { bytes >= $0 } ?? false }
  }

  /// So many bytes of the body were handed to the network in this attempt.
  mutating func sent(_ bytes: Int64, of total: Int64?, at now: ContinuousClock.Instant) -> Action {
    sent = Count(bytes, of: total)
    return changed(at: now)
  }

  /// So many bytes of the response arrived in this attempt.
  mutating func received(_ bytes: Int64, of total: Int64?, at now: ContinuousClock.Instant) -> Action {
    received = Count(bytes, of: total)
    return changed(at: now)
  }

  /// The request is sent again: its bytes start again, the fraction does not.
  mutating func restarted() {
    sent = Count()
    received = Count()
    rate.restart()
  }

  /// The time that ``Action/flush(after:)`` asked for has passed.
  mutating func flush(at now: ContinuousClock.Instant) -> Action {
    isFlushPending = false
    return changed(at: now)
  }

  /// The request succeeded: what is done is all that there was to do.
  mutating func succeeded() -> Action {
    guard !hasSucceeded else { return .none }
    hasSucceeded = true
    published.fraction = 1
    published.completedBytes = max(published.completedBytes, bytes.completed)
    published.totalBytes = published.completedBytes
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
      // A clock that was set back must not delay a report by more than the interval.
      return .flush(after: min(publishedAt + Self.interval - now, Self.interval))
    }
    published.fraction = max(published.fraction, fraction)
    published.completedBytes = max(published.completedBytes, bytes.completed)
    published.totalBytes = bytes.total
    published.bytesPerSecond = rate.bytesPerSecond
    publishedAt = now
    return .publish(published)
  }

  /// Whether the upload is what the progress follows.
  private var uploadLeads: Bool { (sent.total ?? sent.bytes) >= Self.leadingBodyLength }

  /// What is done of this attempt, and of how much.
  private var bytes: (completed: Int64, total: Int64?) {
    guard uploadLeads else { return (received.bytes, received.believedTotal) }
    let total = sent.believedTotal.map { $0.addingClamped(received.believedTotal ?? 0) }
    return (sent.bytes.addingClamped(received.believedTotal == nil ? 0 : received.bytes), total)
  }

  /// What is done of this attempt; `nil` when no length is known that counts.
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
