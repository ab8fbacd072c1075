extension PrismNetworkError {
  /// Returns whether another attempt may succeed where one failed with this error, and does no harm.
  static func isTransient(_ error: any Error) -> Bool {
    if PrismNetworkFailure.forbidsRepetition { return false }
    let failure = PrismNetworkFailure.details(of: error)
    if failure?.repeatability?.isHarmless == false { return false }
    return switch FailureKind(failure ?? error) {
    case .temporary, .serverError: true
    // 404, 409, 422 and a body that cannot be decoded will be the same next time.
    case .refused, .unauthorized, .unclear, .permanent, .completed, .cancelled: false
    }
  }
}

extension PrismNetworkFailure {
  /// Returns the details of an error that a policy is asked about.
  fileprivate static func details(of error: any Error) -> PrismNetworkFailure? {
    if let failure = error as? PrismNetworkFailure { return failure }
    guard let current, error as? PrismNetworkError ?? current.error == current.error else { return nil }
    return current
  }
}
