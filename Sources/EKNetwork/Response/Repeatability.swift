import Foundation

/// Whether a request may be sent again after an exchange has ended: the one rule, for retries, subscriptions, sockets
/// and queues.
///
/// Whatever a policy says, a complete response is never retried, and a request that is not idempotent is never repeated
/// once it was carried out (RFC 9110 §9.2.2).
struct Repeatability: Equatable, Sendable {
  /// What is known about the effect of the request. That of several is the greatest.
  enum Fate: Int, Comparable, Sendable {
    /// It was not sent, or the server has refused it.
    case notCarriedOut
    case unknown
    case carriedOut

    static func < (one: Fate, other: Fate) -> Bool { one.rawValue < other.rawValue }
  }

  let isIdempotent: Bool
  var fate: Fate
  /// The kind of the failure; `nil` if the exchange has ended without one.
  let kind: FailureKind?
}

extension Repeatability {
  static func completed(isIdempotent: Bool) -> Repeatability {
    Repeatability(isIdempotent: isIdempotent, fate: .carriedOut, kind: nil)
  }

  /// Describes an exchange that has ended with an error.
  ///
  /// - Parameter wasCarriedOut: Whether a redirect has changed the method, because the request was carried out (RFC
  ///   9110 §15.4.4); the failure is that of another request.
  init(after error: any Error, isIdempotent: Bool, wasCarriedOut: Bool = false) {
    let kind = FailureKind(error)
    self.init(
      isIdempotent: isIdempotent, fate: wasCarriedOut ? .carriedOut : Self.fate(error, kind), kind: kind)
  }

  init(status: Int, isIdempotent: Bool, wasCarriedOut: Bool = false) {
    self.init(
      isIdempotent: isIdempotent, fate: wasCarriedOut ? .carriedOut : Self.fate(status),
      kind: FailureKind(status: status))
  }

  /// Whether nothing may send the request again.
  var isForbidden: Bool { kind == .completed || kind == .cancelled || wasCompleted }

  /// Whether the request was carried out, and must not be carried out again.
  var wasCompleted: Bool { fate == .carriedOut && !isIdempotent }

  /// Whether a repetition does no harm: the request is idempotent, or was not carried out.
  var isHarmless: Bool { isIdempotent || fate == .notCarriedOut }

  private static func fate(_ error: any Error, _ kind: FailureKind) -> Fate {
    if kind == .completed { return .carriedOut }
    if kind.wasNotSent { return .notCarriedOut }
    let failure = error as? PrismNetworkFailure
    if let status = failure?.statusCode ?? (error as? HTTPError)?.statusCode { return fate(status) }
    let cause = failure?.underlyingError ?? error
    if UnsentRequestError.isCause(of: cause) || cause as? NetworkError == .unauthorized { return .notCarriedOut }
    return switch cause.urlErrorCode {
    case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet, .internationalRoamingOff,
      .callIsActive, .dataNotAllowed, .secureConnectionFailed:
      .notCarriedOut
    default: .unknown
    }
  }

  private static func fate(_ status: Int) -> Fate {
    switch status {
    // RFC 9110 §15.4.2 to §15.4.4: such a redirect is the response to a request that was carried out.
    case 200..<300, 301, 302, 303: .carriedOut
    // RFC 9110 §15.5: the server refuses the request.
    case 307, 308, 400..<500, 503: .notCarriedOut
    default: .unknown
    }
  }
}

/// What a retry policy is deciding about, besides the error.
struct RetryQuestion: Sendable {
  let repeatability: Repeatability
  /// The response of which the request's `errorDecoder` has made the error.
  let refusal: HTTPError?
  /// Whether the failure is that of an upload which another request of it has locked.
  let isOfLockedUpload: Bool

  @TaskLocal static var current: RetryQuestion?
}
