import Foundation

/// A circuit breaker: after a number of consecutive failures nothing is sent to an origin for a while, then one trial
/// request tests whether the server has recovered.
///
/// A failure is a `URLError`, or a status of 500 and above; a cancelled request, one that was not sent, a response of
/// the library's own cache or of a ``PrismCachePolicy``, and any other error do not count. The failure of a request that
/// several callers share counts once. Add it to ``NetworkManager/attemptMiddleware``, so that every attempt counts;
/// several managers may share one. A request that is sent inside `next`, by another middleware or a token refresh, is
/// part of the request that was let through: it passes, and a failure of it counts.
public final class CircuitBreaker: NetworkMiddleware, AdmissionMiddleware {
  /// The error of a request that is refused. A retry policy does not retry it.
  public struct OpenError: NonRetriableError, ClassifiedError, LocalizedError, Equatable, Sendable {
    /// The host to which nothing is sent.
    public let host: String
    /// How long until another request may be sent; zero while a trial request is under way.
    public let retryAfter: Duration

    /// Creates an error as the library throws it, for tests.
    public init(host: String, retryAfter: Duration) {
      self.host = host
      self.retryAfter = retryAfter
    }

    var failureKind: FailureKind { .refused(retryAfter) }

    /// A description of the error.
    public var errorDescription: String? { "Requests to \(host) are suspended after repeated failures" }
  }

  /// Identifies what runs inside `next`, which is part of the request and passes: it would wait for itself.
  private struct Admission: Sendable {
    let breaker: ObjectIdentifier
    let origin: Origin
    let trial: Int?
  }

  /// The maximum number of origins. A further one takes the place of one whose cooldown has ended, or else of the least
  /// recently used one.
  private static let maximumOrigins = 10_000

  private let failures: Int
  private let cooldown: Duration
  private let now: @Sendable () -> Duration
  private let circuits = Locked(ExpiringLRU<Origin, CircuitState>(capacity: CircuitBreaker.maximumOrigins))
  private let arrivals = Locked(0)

  /// - Parameters:
  ///   - failures: The number of consecutive failures that open the circuit, at least one. Defaults to 5.
  ///   - cooldown: How long nothing is sent while the circuit is open, at most a year. Defaults to 30 seconds.
  public convenience init(failures: Int = 5, cooldown: Duration = .seconds(30)) {
    let clock = ContinuousClock().stopwatch()
    self.init(failures: failures, cooldown: cooldown) { clock.duration }
  }

  /// The error codes that say nothing about the server: nothing was sent, or the client ended the request.
  private static let neverSent: Set<URLError.Code> = [
    .badURL, .unsupportedURL, .resourceUnavailable, .cancelled, .requestBodyStreamExhausted,
  ]

  private static func isOfServer(_ error: any Error) -> Bool {
    guard let error = error as? URLError else { return false }
    return !neverSent.contains(error.code) && !UnsentRequestError.isOfOwnLimit(error)
  }

  /// - Parameter now: Returns the time since the circuit breaker was created.
  init(failures: Int, cooldown: Duration, now: @escaping @Sendable () -> Duration) {
    self.failures = failures
    self.cooldown = cooldown.sleepable
    self.now = now
  }

  /// Passes the request on unless the circuit of its origin is open.
  ///
  /// - Throws: ``OpenError``, or the error of `next`.
  public func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    guard let origin = request.url.flatMap({ Origin($0) }) else { return try await next(request) }
    let begin = now()
    let number = arrivals.withLock { $0.increment() }
    let id = ObjectIdentifier(self)
    let outer = EnclosingWork.mark(Admission.self) { $0.breaker == id && $0.origin == origin }
    var trial = outer?.trial
    if outer == nil {
      switch change(origin, at: begin, { $0.arrived(at: begin, trial: number) }) {
      case .go: break
      case .tryOut: trial = number
      case .refuse(let wait): throw OpenError(host: request.url?.host ?? "", retryAfter: wait)
      }
    }
    let admission = Admission(breaker: id, origin: origin, trial: trial)
    // Only the request that was admitted gives its trial up.
    let ownTrial = outer == nil ? trial : nil
    let (result, flight) = await FlightFailure.watching {
      try await EnclosingWork(canBeJoined: false, mark: admission).run { try await next(request) }
    }
    do {
      let response = try result.get()
      let (end, status) = (now(), response.statusOfServer)
      change(origin, at: end) { circuit in
        switch status {
        case nil: circuit.abandoned(trial: ownTrial, at: end)
        case let status? where status >= 500: circuit.failed(trial: trial, flight: response.failure, at: end)
        default: circuit.succeeded()
        }
      }
      return response
    } catch {
      let (end, hasFailed) = (now(), Self.isOfServer(error))
      change(origin, at: end) {
        if hasFailed {
          $0.failed(trial: trial, flight: flight, at: end)
        } else {
          $0.abandoned(trial: ownTrial, at: end)
        }
      }
      throw error
    }
  }

  @discardableResult
  private func change<Value>(_ origin: Origin, at now: Duration, _ change: (inout CircuitState) -> Value) -> Value {
    circuits.withLock { circuits in
      let time = now.clampedNanoseconds
      var circuit =
        circuits.value(for: origin, now: time)?.value ?? CircuitState(threshold: failures, cooldown: cooldown)
      let value = change(&circuit)
      if circuit.isUnused {
        circuits.remove(origin)
      } else {
        circuits.store(circuit, for: origin, deadline: circuit.cooldownEnd?.clampedNanoseconds ?? .max, now: time)
      }
      return value
    }
  }
}

extension NetworkMiddlewareResponse {
  /// The status that the server responded with; `nil` if a cache policy, or the library's cache (RFC 9211 §2), responded
  /// without contacting it.
  fileprivate var statusOfServer: Int? {
    // Its own `Cache-Status` is about the exchange in which it was received.
    if isStored { return nil }
    guard let caches = value(forHTTPHeaderField: CacheStatus.field),
      let own = FieldList.members(caches).last?.split(separator: ";"), own.first == CacheStatus.name[...]
    else { return statusCode }
    let parameters = own.dropFirst().map { $0.split(separator: "=", maxSplits: 1) }
    return parameters.first { $0.count == 2 && $0[0] == " fwd-status" }.flatMap { Int($0[1]) }
  }
}

/// The circuit of an origin: closed while it responds, open for a while after several consecutive failures, then
/// half-open for one trial request.
struct CircuitState {
  private enum State {
    case closed(failures: Int)
    case open(until: Duration)
    case trying(Int)
  }

  enum Verdict: Equatable {
    case go
    /// The request may be sent, as the trial.
    case tryOut
    /// The request would have to wait this long; zero while a trial is under way.
    case refuse(Duration)
  }

  private let threshold: Int
  private let cooldown: Duration
  private var state = State.closed(failures: 0)
  /// The shared requests among the consecutive failures.
  private var flights: Set<Int> = []

  init(threshold: Int, cooldown: Duration) {
    self.threshold = max(1, threshold)
    self.cooldown = cooldown
  }

  /// Whether there is no state to keep.
  var isUnused: Bool { if case .closed(0) = state { true } else { false } }

  /// When a trial request may be sent; `nil` unless the circuit is open.
  var cooldownEnd: Duration? { if case .open(let end) = state { end } else { nil } }

  /// - Parameter trial: The number of the request if it becomes the trial; no other request has had it.
  mutating func arrived(at now: Duration, trial: Int) -> Verdict {
    switch state {
    case .closed: return .go
    case .trying: return .refuse(.zero)
    case .open(let end):
      guard end <= now else { return .refuse(end - now) }
      state = .trying(trial)
      return .tryOut
    }
  }

  mutating func succeeded() {
    state = .closed(failures: 0)
    flights = []
  }

  /// - Parameter flight: The number of the shared request whose failure it is: ``FlightFailure/number``.
  mutating func failed(trial: Int? = nil, flight: Int? = nil, at now: Duration) {
    switch state {
    case .closed(let failures):
      if let flight, !flights.insert(flight).inserted { return }
      guard failures + 1 >= threshold else { return state = .closed(failures: failures + 1) }
      state = .open(until: now + cooldown)
      flights = []
    case .trying(let number) where number == trial: state = .open(until: now + cooldown)
    // The request was sent before the circuit opened.
    case .open, .trying: break
    }
  }

  /// Records the end of a request that says nothing about the server.
  mutating func abandoned(trial: Int? = nil, at now: Duration) {
    if case .trying(let number) = state, number == trial { state = .open(until: now) }
  }
}
