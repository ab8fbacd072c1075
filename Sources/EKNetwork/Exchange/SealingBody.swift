import Foundation

/// The body of a response to an unsafe request, after whose end no response requested before it is shared.
final class SealingBody: TransportBody {
  private let body: any TransportBody
  private let shared: SharedFlights<ExchangeKey>

  init(_ body: any TransportBody, _ shared: SharedFlights<ExchangeKey>) {
    self.body = body
    self.shared = shared
  }

  deinit { shared.seal() }

  var end: ResponseEnd? { body.end }

  func next() async throws -> Data? {
    do {
      let chunk = try await body.next()
      if chunk == nil { shared.seal() }
      return chunk
    } catch {
      shared.seal()
      throw error
    }
  }

  func cancel() {
    body.cancel()
    shared.seal()
  }
}
