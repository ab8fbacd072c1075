/// The failures of an operation's requests, of which the operation throws only the errors.
struct FailureRecord: Sendable {
  private struct Entry: Sendable {
    let failure: PrismNetworkFailure
    /// The error that the library has thrown for it.
    let error: any Error
  }

  /// The maximum number of failures whose details are kept.
  private static let maximumCount = 32

  private var entries: [Entry] = []
  /// The number of failures with each error.
  private var counts: [PrismNetworkError: Int] = [:]
  /// Whether every request can safely be sent again, and with them the operation.
  private(set) var isHarmlessToRepeat = true
  /// Whether a request must not be sent again, whatever a policy says.
  private(set) var forbidsRepetition = false

  mutating func add(_ failure: PrismNetworkFailure, thrownAs error: any Error) {
    if entries.count == Self.maximumCount { entries.removeFirst() }
    entries.append(Entry(failure: failure, error: error))
    counts[failure.error, default: 0] += 1
    if let repeatability = failure.repeatability { add(repeatability) }
  }

  /// Adds a request that has ended.
  mutating func add(_ repeatability: Repeatability) {
    if !repeatability.isHarmless { isHarmlessToRepeat = false }
    if repeatability.wasCompleted { forbidsRepetition = true }
  }

  /// Adds the requests of a part of the operation, which count even if the part has handled their failures.
  mutating func add(_ part: FailureRecord) {
    if !part.isHarmlessToRepeat { isHarmlessToRepeat = false }
    if part.forbidsRepetition { forbidsRepetition = true }
  }

  /// Returns the details of an error that the operation has thrown; `nil` if it is not that of a recorded failure, or
  /// might be that of several.
  func details(of error: any Error) -> PrismNetworkFailure? {
    guard let meaning = error as? PrismNetworkError else { return nil }
    if let own = entries.last(where: { Self.isSame($0.error, error) }) { return own.failure }
    // Whoever has caught the error and thrown it again has made another one, with the same value.
    guard counts[meaning] == 1 else { return nil }
    return entries.last { $0.failure.error == meaning }?.failure
  }

  /// A thrown error as the reference that it is. A structure, because a function that is generic over it would look into
  /// the object instead.
  private struct Reference {
    let error: any Error
    var address: UInt { unsafeBitCast(self, to: UInt.self) }
  }

  /// Whether two errors are the same object. An `any Error` is a reference to an object that the first `throw` makes,
  /// and that is passed on unchanged; the entries keep theirs alive, so that no other one has its address.
  private static func isSame(_ one: any Error, _ other: any Error) -> Bool {
    Reference(error: one).address == Reference(error: other).address
  }
}
