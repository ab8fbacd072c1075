/// A transport that returns one response, which middleware has supplied.
struct FixedResponseTransport: Transport {
  let response: TransportResponse
  let wire: any Transport

  var resolvesRedirects: Bool { true }
  var resourceTimeout: Duration? { nil }
  var sessionSettings: SessionSettings { wire.sessionSettings }

  func start(_ request: TransportRequest) async throws -> TransportResponse { response }
}
