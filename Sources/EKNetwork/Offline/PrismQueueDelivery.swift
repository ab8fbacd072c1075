import Foundation

/// The way in which a ``PrismOfflineQueue`` sends its requests.
public struct PrismQueueDelivery: Sendable {
  enum Way: Sendable {
    case none
    case each(@Sendable (PrismQueuedRequest) async throws -> Void)
    case batch(Batch)
  }

  /// Unchecked: the closure was passed as `sending`, and one flush at a time calls it.
  struct Batch: @unchecked Sendable {
    let send: ([PrismQueuedRequest]) async throws -> Void
  }

  let way: Way

  /// Sends one request at a time, in order: a delivered request is never sent again.
  ///
  /// - Parameter send: Returns when the server has accepted the request, and throws when it has not. A request with an
  ///   error that another attempt cannot change (a 3xx, a 4xx other than 401, 408, 425 and 429, 501 or
  ///   505, a ``NonRetriableError``, a complete response that cannot be decoded) leaves the queue.
  public static func each(
    _ send: @escaping @Sendable (PrismQueuedRequest) async throws -> Void
  ) -> PrismQueueDelivery { PrismQueueDelivery(way: .each(send)) }
}
