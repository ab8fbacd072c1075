extension PrismQueueDelivery {
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
