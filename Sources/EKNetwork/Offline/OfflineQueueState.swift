import Foundation

/// The waiting requests of a queue: by priority, and within one priority by arrival. A value type without side effects.
struct OfflineQueueState {
  /// The entries of one priority. The first `start` have been removed: taking each from the front of the array would
  /// move all behind it.
  private struct Lane {
    var entries: [OfflineQueueEntry?] = []
    var start = 0

    var first: OfflineQueueEntry? { start < entries.count ? entries[start] : nil }
    var all: [OfflineQueueEntry] { entries[start...].compactMap(\.self) }

    mutating func removeFirst() {
      entries[start] = nil
      start += 1
      guard start > 32, start * 2 > entries.count else { return }
      entries.removeFirst(start)
      start = 0
    }
  }

  private let maximumCount: Int
  private let maximumBytes: Int64
  private var lanes: [Int: Lane] = [:]
  /// The keys of the lanes in ascending order: looking for the greatest one each time would be quadratic.
  private var priorities: [Int] = []
  private(set) var count = 0
  private(set) var bytes: Int64 = 0
  private var nextSequence: UInt64
  /// The requests that are being sent; they stay in the queue until that has succeeded.
  private var inFlight: Set<UInt64> = []

  /// - Parameter lastSequence: The last position in the order of arrival that was used before.
  init(maximumCount: Int, maximumBytes: Int64, lastSequence: UInt64 = 0) {
    nextSequence = lastSequence + 1
    self.maximumCount = maximumCount
    self.maximumBytes = maximumBytes
  }

  /// All entries, in the order in which they are sent.
  var all: [OfflineQueueEntry] {
    priorities.reversed().flatMap { lanes[$0]?.all ?? [] }
  }

  /// Throws an error if a request of that size may not be added.
  func check(bytes: Int64) throws(PrismOfflineQueueError) {
    guard count < maximumCount else { throw .tooManyRequests(limit: maximumCount) }
    let (sum, overflow) = self.bytes.addingReportingOverflow(bytes)
    guard !overflow, sum <= maximumBytes else { throw .tooManyBytes(limit: maximumBytes) }
  }

  /// Returns the position of the next request in the order of arrival.
  mutating func takeSequence() -> UInt64 {
    defer { nextSequence += 1 }
    return nextSequence
  }

  mutating func append(_ entry: OfflineQueueEntry) {
    let priority = entry.request.priority
    if lanes[priority] == nil { priorities.insert(priority, at: index(of: priority)) }
    lanes[priority, default: Lane()].entries.append(entry)
    nextSequence = max(nextSequence, entry.sequence + 1)
    count += 1
    bytes += entry.bytes
  }

  /// Returns the next entry to send and marks it as in flight.
  mutating func beginNext() -> OfflineQueueEntry? {
    guard let priority = priorities.last, let entry = lanes[priority]?.first else { return nil }
    inFlight.insert(entry.sequence)
    return entry
  }

  /// Returns all entries and marks them as in flight.
  mutating func beginAll() -> [OfflineQueueEntry] {
    let all = all
    inFlight.formUnion(all.map(\.sequence))
    return all
  }

  /// Removes entries that have been delivered, or never will be.
  mutating func remove(_ entries: [OfflineQueueEntry]) {
    var sequences = Set(entries.map(\.sequence))
    inFlight.subtract(sequences)
    for entry in entries where lanes[entry.request.priority]?.first?.sequence == entry.sequence {
      lanes[entry.request.priority]?.removeFirst()
      sequences.remove(entry.sequence)
      forget(entry)
    }
    let touched = Set(entries.map(\.request.priority))
    if !sequences.isEmpty {
      for priority in touched {
        guard let lane = lanes[priority] else { continue }
        let (kept, gone) = lane.all.reduce(into: ([OfflineQueueEntry](), [OfflineQueueEntry]())) { parts, entry in
          if sequences.contains(entry.sequence) { parts.1.append(entry) } else { parts.0.append(entry) }
        }
        for entry in gone { forget(entry) }
        lanes[priority] = Lane(entries: kept)
      }
    }
    let empty = touched.filter { lanes[$0]?.first == nil }
    for priority in empty { lanes[priority] = nil }
    if empty.count == 1, priorities.last == empty.first {
      priorities.removeLast()
    } else if !empty.isEmpty {
      priorities.removeAll { empty.contains($0) }
    }
  }

  /// Keeps entries that could not be delivered; returns those whose retry count has changed.
  mutating func failed(_ entries: [OfflineQueueEntry], counts: Bool = true) -> [OfflineQueueEntry] {
    let sequences = Set(entries.map(\.sequence))
    inFlight.subtract(sequences)
    guard counts else { return [] }
    var changed: [OfflineQueueEntry] = []
    for priority in Set(entries.map(\.request.priority)) {
      guard var lane = lanes.removeValue(forKey: priority) else { continue }
      for index in lane.entries.indices {
        guard var entry = lane.entries[index], sequences.contains(entry.sequence) else { continue }
        entry.request = entry.request.failedOnceMore
        lane.entries[index] = entry
        changed.append(entry)
      }
      lanes[priority] = lane
    }
    return changed
  }

  /// Removes and returns all entries that are not being sent.
  mutating func takeAll() -> [OfflineQueueEntry] {
    let taken = all.filter { !inFlight.contains($0.sequence) }
    let flying = inFlight
    remove(taken)
    inFlight = flying
    return taken
  }

  /// Returns where a priority is in `priorities`, or has to be inserted.
  private func index(of priority: Int) -> Int {
    var (low, high) = (0, priorities.count)
    while low < high {
      let middle = (low + high) / 2
      if priorities[middle] < priority { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private mutating func forget(_ entry: OfflineQueueEntry) {
    count -= 1
    bytes -= entry.bytes
  }
}

struct OfflineQueueEntry: Sendable {
  /// The position in the order of arrival, across runs of the program.
  let sequence: UInt64
  var request: PrismQueuedRequest
  /// The number of bytes that it counts for in the queue.
  let bytes: Int64
}

/// Decides when a queue flushes automatically. A value type without side effects.
struct OfflineFlushState {
  private enum Phase {
    case idle
    case flushing
    /// Waiting for the end of the backoff.
    case waiting
  }

  /// The maximum for a server's `Retry-After`.
  private static let maximumRetryAfter = Duration.seconds(300)

  private let backoff: any PrismRetryPolicy
  private var phase = Phase.idle
  private var failures = 0

  init(backoff: any PrismRetryPolicy) { self.backoff = backoff }

  /// Records a new request and returns whether to flush now: more requests do not shorten the wait after a failure.
  mutating func enqueued() -> Bool {
    guard phase == .idle else { return false }
    phase = .flushing
    return true
  }

  /// Records that the network is back or the wait is over, and returns whether to flush now.
  mutating func woken(countsFailures: Bool = true) -> Bool {
    if !countsFailures { failures = 0 }
    guard phase == .waiting else { return false }
    phase = .flushing
    return true
  }

  /// Records that a flush has delivered everything, and returns whether to flush again for requests that came
  /// meanwhile.
  mutating func succeeded(isEmpty: Bool) -> Bool {
    failures = 0
    phase = isEmpty ? .idle : .flushing
    return !isEmpty
  }

  /// Records that an explicit flush has delivered everything, and returns whether to end a wait, so that the next
  /// request is sent at once.
  mutating func flushed() -> Bool {
    guard phase == .waiting else { return false }
    (phase, failures) = (.idle, 0)
    return true
  }

  /// Records that a flush has stopped at a request that could not be delivered yet, and returns how long to wait.
  mutating func failed(retryAfter: Duration?) -> Duration {
    phase = .waiting
    defer { if failures < .max { failures += 1 } }
    return max(backoff.delay(for: failures), min(retryAfter ?? .zero, Self.maximumRetryAfter), .zero)
  }

  mutating func cancelled() { phase = .idle }
}

/// What a failed delivery means for the request.
enum OfflineFailure: Equatable {
  /// Another attempt may succeed.
  case temporary(retryAfter: Duration?)
  /// Middleware refused the request for a limited time, and did not send it.
  case refused(retryAfter: Duration)
  /// No attempt will ever succeed.
  case permanent
  /// The flush was cancelled.
  case cancelled

  init(_ error: any Error, now: Date = Date()) {
    // Each request is sent with an `Idempotency-Key`.
    let repeatability = Repeatability(after: error, isIdempotent: true)
    switch repeatability.kind {
    case .cancelled: self = .cancelled
    case .refused(let delay): self = .refused(retryAfter: delay)
    case _ where repeatability.isForbidden, .permanent: self = .permanent
    default: self = .temporary(retryAfter: RetryAfter.delay(in: error, now: now))
    }
  }

  /// Whether it counts as a failed attempt of the request.
  var isFailedAttempt: Bool {
    if case .temporary = self { true } else { false }
  }

  /// The minimum time until the next attempt, if it is known.
  var retryAfter: Duration? {
    switch self {
    case .temporary(let delay): delay
    case .refused(let delay): delay
    case .permanent, .cancelled: nil
    }
  }
}
