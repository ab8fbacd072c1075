import Foundation

/// The requirements of a typed HTTP client, which ``PrismNetworkAdapter`` meets, so that tests can inject a mock.
public protocol PrismNetworkClient: Sendable {
  /// Sends a request and decodes its response. `formatter` is for dates that are not in ISO 8601.
  func request<Request: PrismNetworkRequest>(
    on request: Request, with formatter: DateFormatter?
  ) async throws -> Request.Response

  /// Sends a request and returns the target of the server's redirect, without following it.
  func redirect<Request: PrismNetworkRequest>(from request: Request) async throws -> URL
}

extension PrismNetworkClient {
  /// Sends a request whose response has no dates, or dates in ISO 8601.
  public func request<Request: PrismNetworkRequest>(on request: Request) async throws -> Request.Response {
    try await self.request(on: request, with: nil)
  }
}
