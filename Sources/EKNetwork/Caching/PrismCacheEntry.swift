import Foundation

/// A stored response: its body and head, when it was stored and for how long it is fresh.
public struct PrismCacheEntry: Sendable, Equatable {
  /// How long a response is fresh where nothing says so: five minutes.
  public static let defaultTTL = Duration.seconds(300)

  /// The body.
  public let data: Data
  /// The status code.
  public let statusCode: Int
  /// The header fields.
  public let headers: [String: String]
  /// When the response came.
  public let cachedAt: Date
  /// How long it is fresh, counted from ``cachedAt``. Zero and less: not at all.
  public let ttl: Duration

  /// An entry.
  ///
  /// - Parameters:
  ///   - data: The body.
  ///   - statusCode: The status code. Defaults to 200.
  ///   - headers: The header fields. Defaults to none.
  ///   - cachedAt: When the response came. Defaults to now.
  ///   - ttl: How long it is fresh. Defaults to ``defaultTTL``.
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

  /// When it stops being fresh.
  public var expiresAt: Date { cachedAt.addingTimeInterval(ttl.timeInterval) }

  /// Whether `cachedAt + ttl` has passed, by the system's clock. A ``PrismResponseCache`` goes by a clock of its own,
  /// which cannot be set.
  public var isExpired: Bool { expiresAt <= Date() }
}
