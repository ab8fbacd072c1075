import Foundation

/// How a ``PrismOfflineQueue`` sends what waits in it.
public struct PrismQueueDelivery: Sendable {
  enum Way: Sendable {
    case none
    case each(@Sendable (PrismQueuedRequest) async throws -> Void)
    case batch(Batch)
  }

  /// Unchecked: the closure was given away by its maker, and one flush at a time calls it.
  struct Batch: @unchecked Sendable {
    let send: ([PrismQueuedRequest]) async throws -> Void
  }

  let way: Way

  /// One request at a time, in their order: what has been delivered never is again.
  ///
  /// - Parameter send: Returns when the server has taken the request, and throws when it has not. What another attempt
  ///   cannot change (an ``HTTPError`` with a 4xx, a ``NonRetriableError``) leaves the queue.
  public static func each(
    _ send: @escaping @Sendable (PrismQueuedRequest) async throws -> Void
  ) -> PrismQueueDelivery { PrismQueueDelivery(way: .each(send)) }
}
