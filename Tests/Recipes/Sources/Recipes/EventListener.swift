import EKNetwork
import ServiceLifecycle

/// Handles a server's events until the program is asked to stop. Then the connection is closed at once, and the task of
/// a running handler is cancelled.
struct EventListener<Request: NetworkRequest & Sendable>: Service {
  let manager: NetworkManager
  let request: Request
  let handle: @Sendable (ServerSentEvent) async throws -> Void

  func run() async throws {
    do {
      try await cancelWhenGracefulShutdown {
        for try await event in manager.events(request) { try await handle(event) }
      }
    } catch is CancellationError where Task.isShuttingDownGracefully {
      // An intended shutdown is not an error, but a service group would report it as one.
    }
  }
}
