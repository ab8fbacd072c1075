import Testing

@testable import EKNetwork

@Suite struct FailureRecordTests {
  private func failure(_ error: PrismNetworkError, _ status: Int, isHarmless: Bool = true) -> PrismNetworkFailure {
    var failure = PrismNetworkFailure(error, statusCode: status)
    failure.isHarmlessToRepeat = isHarmless
    return failure
  }

  @Test func detailsAreThoseOfTheLastFailureWithTheError() {
    var record = FailureRecord()
    #expect(record.details(of: PrismNetworkError.serverError) == nil)
    for status in [500, 503] { record.add(failure(.serverError, status)) }
    record.add(failure(.forbidden, 403))
    #expect(record.details(of: PrismNetworkError.serverError)?.statusCode == 503)
    #expect(record.details(of: PrismNetworkError.forbidden)?.statusCode == 403)
    #expect(record.details(of: PrismNetworkError.noCache) == nil)
    #expect(record.details(of: CancellationError()) == nil)
  }

  /// Another request of the operation may be the harmful one.
  @Test func oneHarmfulFailureMakesAllHarmful() {
    var record = FailureRecord()
    record.add(failure(.serverError, 503))
    #expect(record.details(of: PrismNetworkError.serverError)?.isHarmlessToRepeat == true)
    record.add(failure(.noConnectivity, 0, isHarmless: false))
    record.add(failure(.serverError, 503))
    #expect(record.details(of: PrismNetworkError.serverError)?.isHarmlessToRepeat == false)
    #expect(record.details(of: PrismNetworkError.noConnectivity)?.isHarmlessToRepeat == false)
  }
}
