import EKNetwork
import ServiceLifecycle

/// Handles a server's events until the program is asked to stop. The connection is closed at once then, and a handler
/// that is at work sees its task cancelled.
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
      // What was wanted is no failure: a service group would report it as one.
    }
  }
}
