/// The failures of an operation's requests, of which the operation throws only the errors.
struct FailureRecord: Sendable {
  /// The last failure with each error.
  private var failures: [PrismNetworkError: PrismNetworkFailure] = [:]
  /// Whether every failed request can safely be sent again, and with them the operation.
  private(set) var isHarmlessToRepeat = true

  mutating func add(_ failure: PrismNetworkFailure) {
    failures[failure.error] = failure
    if !failure.isHarmlessToRepeat { isHarmlessToRepeat = false }
  }

  /// Adds the failures of a part of the operation, which are harmful even if the part has handled them.
  mutating func add(_ part: FailureRecord) {
    if !part.isHarmlessToRepeat { isHarmlessToRepeat = false }
  }

  /// Returns the details of an error that the operation has thrown; `nil` if it is not that of a recorded failure.
  func details(of error: any Error) -> PrismNetworkFailure? {
    guard let error = error as? PrismNetworkError, var failure = failures[error] else { return nil }
    failure.isHarmlessToRepeat = isHarmlessToRepeat
    return failure
  }
}
