import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Spares a server that fails, and its callers the wait: after a number of failures in a row nothing is sent to its
/// origin for a while, then one request tries whether it is back.
///
/// A failure is a `URLError`, or a status of 500 and above; a cancelled request, or another error, says nothing. It belongs into
/// ``NetworkManager/attemptMiddleware``, so that every attempt counts; several managers may share one.
public final class CircuitBreaker: NetworkMiddleware {
  /// What a request is refused with. It is not tried again by a retry policy.
  public struct OpenError: NonRetriableError, LocalizedError, Equatable, Sendable {
    /// The host that is spared.
    public let host: String
    /// When a request may try again, from now; zero while one is trying.
    public let retryAfter: Duration

    /// An error as the library would throw it, for tests.
    public init(host: String, retryAfter: Duration) {
      self.host = host
      self.retryAfter = retryAfter
    }

    /// What happened, in a sentence.
    public var errorDescription: String? { "\(host) has failed repeatedly, and is not asked for now" }
  }

  private typealias Circuit = CircuitState<ContinuousClock.Instant>

  /// Beyond this, further origins are not watched.
  private static let maximumOrigins = 10_000

  private let failures: Int
  private let cooldown: Duration
  private let now: @Sendable () -> ContinuousClock.Instant
  private let circuits = Locked<[Origin: Circuit]>([:])

  /// - Parameters:
  ///   - failures: How many failures in a row open the circuit. Defaults to 5.
  ///   - cooldown: How long nothing is sent then. Defaults to 30 seconds.
  public convenience init(failures: Int = 5, cooldown: Duration = .seconds(30)) {
    self.init(failures: failures, cooldown: cooldown) { .now }
  }

  /// For tests: any time.
  init(failures: Int, cooldown: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.failures = failures
    self.cooldown = cooldown
    self.now = now
  }

  /// Sends the request on unless the circuit of its origin is open.
  ///
  /// - Throws: ``OpenError``, or what `next` throws.
  public func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    guard let origin = request.url.flatMap({ Origin($0) }) else { return try await next(request) }
    let begin = now()
    if let wait = change(origin, { $0.refusal(at: begin) }) {
      throw OpenError(host: request.url?.host ?? "", retryAfter: wait)
    }
    do {
      let response = try await next(request)
      let (end, hasFailed) = (now(), response.statusCode >= 500)
      change(origin) { if hasFailed { $0.failed(at: end) } else { $0.succeeded() } }
      return response
    } catch {
      let (end, hasFailed) = (now(), error is URLError)
      change(origin) { if hasFailed { $0.failed(at: end) } else { $0.abandoned(at: end) } }
      throw error
    }
  }

  @discardableResult
  private func change<Value>(_ origin: Origin, _ change: (inout Circuit) -> Value) -> Value {
    circuits.withLock { circuits in
      var circuit = circuits[origin] ?? Circuit(threshold: failures, cooldown: cooldown)
      let value = change(&circuit)
      if circuit.isUnused {
        circuits[origin] = nil
      } else if circuits[origin] != nil || circuits.count < Self.maximumOrigins {
        circuits[origin] = circuit
      }
      return value
    }
  }
}
