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

  /// Through a manager, one request at a time, with its token refresh; a status outside 2xx is a failure.
  ///
  /// - Parameters:
  ///   - manager: Sends the requests. Its base URL is not used: a queued request has its own.
  ///   - accessToken: Gives the token for `Authorization: Bearer …`, asked when a request is sent. Defaults to `nil`.
  public static func manager(
    _ manager: NetworkManager, accessToken: (@Sendable () -> String?)? = nil
  ) -> PrismQueueDelivery {
    .each { try await manager.deliver($0, accessToken: accessToken) }
  }
}
