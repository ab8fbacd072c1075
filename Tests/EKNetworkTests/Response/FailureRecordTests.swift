import Testing

@testable import EKNetwork

struct FailureRecordTests {
  private func failure(_ error: PrismNetworkError, _ status: Int = 404) -> PrismNetworkFailure {
    PrismNetworkFailure(error, statusCode: status)
  }

  @Test func detailsAreThoseOfTheThrownError() {
    var record = FailureRecord()
    #expect(record.details(of: PrismNetworkError.serverError) == nil)
    let errors: [any Error] = [500, 503, 502].map { _ in PrismNetworkError.serverError }
    for (error, status) in zip(errors, [500, 503, 502]) { record.add(failure(.serverError, status), thrownAs: error) }
    record.add(failure(.forbidden, 403), thrownAs: PrismNetworkError.forbidden)
    for (error, status) in zip(errors, [500, 503, 502]) { #expect(record.details(of: error)?.statusCode == status) }
    #expect(record.details(of: PrismNetworkError.serverError) == nil, "one of three")
    #expect(record.details(of: PrismNetworkError.forbidden)?.statusCode == 403, "there is only one")
    #expect(record.details(of: PrismNetworkError.noCache) == nil)
    #expect(record.details(of: CancellationError()) == nil)
  }

  @Test func recordIsBounded() {
    var record = FailureRecord()
    let errors: [any Error] = (0..<1_000).map { _ in PrismNetworkError.serverError }
    for (index, error) in errors.enumerated() { record.add(failure(.serverError, index), thrownAs: error) }
    #expect(record.details(of: errors[999])?.statusCode == 999)
    #expect(record.details(of: errors[0]) == nil)
  }

  /// Another request of the operation may be the harmful one.
  @Test func oneHarmfulRequestMakesTheOperationHarmful() {
    var record = FailureRecord()
    func add(_ status: Int, isIdempotent: Bool) {
      record.add(Repeatability(status: status, isIdempotent: isIdempotent))
    }
    add(503, isIdempotent: false)
    add(500, isIdempotent: true)
    #expect(record.isHarmlessToRepeat && !record.forbidsRepetition)
    add(500, isIdempotent: false)
    add(503, isIdempotent: true)
    #expect(!record.isHarmlessToRepeat && !record.forbidsRepetition)
    record.add(.completed(isIdempotent: false))
    #expect(record.forbidsRepetition)
    var whole = FailureRecord()
    whole.add(record)
    #expect(!whole.isHarmlessToRepeat && whole.forbidsRepetition)
  }
}
