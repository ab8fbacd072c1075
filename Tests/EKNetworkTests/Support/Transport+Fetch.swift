@testable import EKNetwork

extension Transport {
  /// The answer with its whole body, as `Exchange` has it collected.
  @concurrent func fetch(_ request: TransportRequest) async throws -> FetchedResponse {
    var request = request
    request.collectsBody = true
    return try await start(request).collect()
  }
}
