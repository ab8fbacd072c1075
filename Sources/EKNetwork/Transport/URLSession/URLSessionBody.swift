import Foundation

/// The consumer's end of an exchange. Dropping it ends the exchange.
final class URLSessionBody: TransportBody {
  private let exchange: URLSessionExchange

  init(_ exchange: URLSessionExchange) { self.exchange = exchange }

  var timings: NetworkTimings? { exchange.timings }

  func next() async throws -> Data? { try await exchange.next() }

  func cancel() { exchange.cancel() }

  deinit { exchange.cancel() }
}
