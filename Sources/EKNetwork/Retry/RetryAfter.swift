import Foundation

/// The value of a `Retry-After` field (RFC 9110 §10.2.3).
enum RetryAfter: Equatable, Sendable {
  case seconds(Int64)
  case date(Date)

  /// Parses a field value; returns `nil` if it is neither a number of seconds nor a date. Of repeated lines, which may
  /// be joined, equal ones are one; if they differ, there is no delay of the server's to wait for.
  ///
  /// - Parameter now: The time that determines the century of a two-digit year.
  init?(_ value: String, now: Date) {
    let text = SingletonField.value(ofJoined: value).trimmingCharacters(in: Self.optionalWhitespace)
    if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      // RFC 9111 §1.2.2: a number too large to represent is taken as 2³¹.
      self = .seconds(text.utf8.reduce(0) { min($0 * 10 + Int64($1 - 0x30), 2_147_483_648) })
    } else if let date = HTTPDate.parse(text, now: now) {
      self = .date(date)
    } else {
      return nil
    }
  }

  /// Returns the delay requested by the server in this error's response, or by middleware that refused the request;
  /// `nil` if there is none.
  static func delay(in error: any Error, now: Date) -> Duration? {
    if case .refused(let delay) = FailureKind(error) { return delay }
    let value = (error as? any ClassifiedError)?.responseHeaders?.field("Retry-After")
    return value.flatMap { RetryAfter($0, now: now) }?.delay(from: now)
  }

  /// Returns the delay, never negative.
  func delay(from now: Date) -> Duration {
    switch self {
    case .seconds(let seconds): .seconds(seconds)
    case .date(let date): .clamped(seconds: date.timeIntervalSince(now))
    }
  }

  private static let optionalWhitespace = CharacterSet(charactersIn: " \t")
}
