import Foundation

/// A stored response: its body and head, when it was stored, and how long it is fresh.
public struct PrismCacheEntry: Sendable, Equatable {
  /// The default time to live of a response: five minutes.
  public static let defaultTTL = Duration.seconds(300)

  /// The body.
  public let data: Data
  /// The status code.
  public let statusCode: Int
  /// The header fields.
  public let headers: [String: String]
  /// The time at which the response was received.
  public let cachedAt: Date
  /// The time to live, counted from ``cachedAt``. Zero or less means that the entry is never fresh.
  public let ttl: Duration

  /// Creates an entry.
  ///
  /// - Parameters:
  ///   - data: The body.
  ///   - statusCode: The status code. Defaults to 200.
  ///   - headers: The header fields. Defaults to none.
  ///   - cachedAt: The time at which the response was received. Defaults to now.
  ///   - ttl: The time to live. Defaults to ``defaultTTL``.
  public init(
    data: Data, statusCode: Int = 200, headers: [String: String] = [:], cachedAt: Date = Date(),
    ttl: Duration = PrismCacheEntry.defaultTTL
  ) {
    self.data = data
    self.statusCode = statusCode
    self.headers = headers
    self.cachedAt = cachedAt
    self.ttl = ttl
  }

  /// The time at which the entry stops being fresh.
  public var expiresAt: Date { cachedAt.addingTimeInterval(ttl.timeInterval) }

  /// Whether `cachedAt + ttl` has passed, by the system's clock. A ``PrismResponseCache`` uses a clock of its own,
  /// which cannot be set.
  public var isExpired: Bool { expiresAt <= Date() }
}
