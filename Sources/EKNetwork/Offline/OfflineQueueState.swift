import Foundation

/// The waiting requests of a queue: by priority, and within one priority by arrival. A value type without side effects.
struct OfflineQueueState {
  private let maximumCount: Int
  private let maximumBytes: Int64
  /// The entries of each priority, by their sequence.
  private var lanes: [Int: KeyedQueue<UInt64, OfflineQueueEntry>] = [:]
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
  var all: [OfflineQueueEntry] { priorities.reversed().flatMap { lanes[$0]?.all ?? [] } }

  func check(bytes: Int64) throws(PrismOfflineQueueError) {
    guard count < maximumCount else { throw .tooManyRequests(limit: maximumCount) }
    let (sum, overflow) = self.bytes.addingReportingOverflow(bytes)
    guard !overflow, sum <= maximumBytes else { throw .tooManyBytes(limit: maximumBytes) }
  }

  mutating func takeSequence() -> UInt64 {
    defer { nextSequence += 1 }
    return nextSequence
  }

  mutating func append(_ entry: OfflineQueueEntry) {
    let priority = entry.request.priority
    if lanes[priority] == nil { priorities.insert(priority, at: index(of: priority)) }
    lanes[priority, default: KeyedQueue()].append(entry, id: entry.sequence)
    nextSequence = max(nextSequence, entry.sequence + 1)
    count += 1
    bytes = bytes.addingClamped(entry.bytes)
  }

  mutating func beginNext() -> OfflineQueueEntry? {
    guard let priority = priorities.last, let entry = lanes[priority]?.first else { return nil }
    inFlight.insert(entry.sequence)
    return entry
  }

  mutating func beginAll() -> [OfflineQueueEntry] {
    let all = all
    inFlight.formUnion(all.map(\.sequence))
    return all
  }

  /// Removes entries that have been delivered, or never will be.
  mutating func remove(_ entries: [OfflineQueueEntry]) {
    inFlight.subtract(entries.map(\.sequence))
    for entry in entries where lanes[entry.request.priority]?.remove(entry.sequence) != nil {
      count -= 1
      bytes -= entry.bytes
    }
    let empty = Set(entries.map(\.request.priority)).filter { lanes[$0]?.isEmpty != false }
    for priority in empty { lanes[priority] = nil }
    if empty.count == 1, priorities.last == empty.first {
      priorities.removeLast()
    } else if !empty.isEmpty {
      priorities.removeAll { empty.contains($0) }
    }
  }

  /// Keeps entries that could not be delivered; returns those whose retry count has changed.
  mutating func failed(_ entries: [OfflineQueueEntry], counts: Bool = true) -> [OfflineQueueEntry] {
    inFlight.subtract(entries.map(\.sequence))
    guard counts else { return [] }
    return entries.compactMap { entry in
      lanes[entry.request.priority]?.update(entry.sequence) { $0.request = $0.request.failedOnceMore }
    }
  }

  mutating func takeAll() -> [OfflineQueueEntry] {
    let taken = all.filter { !inFlight.contains($0.sequence) }
    remove(taken)
    return taken
  }

  private func index(of priority: Int) -> Int {
    var (low, high) = (0, priorities.count)
    while low < high {
      let middle = (low + high) / 2
      if priorities[middle] < priority { low = middle + 1 } else { high = middle }
    }
    return low
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

  private static let maximumRetryAfter = Duration.seconds(300)

  private let backoff: any PrismRetryPolicy
  private var phase = Phase.idle
  private var failures = 0
  /// Whether the network has come back during the flush, which may fail because of what it has sent before.
  private var isNetworkBack = false

  init(backoff: any PrismRetryPolicy) { self.backoff = backoff }

  /// Records a new request and returns whether to flush now: more requests do not shorten the wait after a failure.
  mutating func enqueued() -> Bool {
    guard phase == .idle else { return false }
    phase = .flushing
    return true
  }

  /// Records that the network is back or the wait is over, and returns whether to flush now.
  mutating func woken(countsFailures: Bool = true) -> Bool {
    if !countsFailures { (failures, isNetworkBack) = (0, phase == .flushing) }
    guard phase == .waiting else { return false }
    phase = .flushing
    return true
  }

  /// Records that a flush has delivered everything, and returns whether to flush again for requests that came
  /// meanwhile.
  mutating func succeeded(isEmpty: Bool) -> Bool {
    (failures, isNetworkBack) = (0, false)
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
    let delay = exchange(&isNetworkBack, with: false) ? .zero : backoff.delay(for: failures)
    return max(delay, min(retryAfter ?? .zero, Self.maximumRetryAfter), .zero)
  }
}

/// What a failed delivery means for the request.
enum OfflineFailure: Equatable {
  /// Another attempt may succeed.
  case temporary(retryAfter: Duration?)
  /// Middleware refused the request for a limited time, and did not send it.
  case refused(retryAfter: Duration)
  /// No attempt will ever succeed.
  case permanent
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

  var isFailedAttempt: Bool { if case .temporary = self { true } else { false } }

  var retryAfter: Duration? {
    switch self {
    case .temporary(let delay): delay
    case .refused(let delay): delay
    case .permanent, .cancelled: nil
    }
  }
}
