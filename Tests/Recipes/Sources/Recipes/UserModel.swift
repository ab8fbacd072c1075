import EKNetwork
import Observation

/// The state of a user's screen, and the only task that loads it.
@MainActor @Observable
final class UserModel {
  enum State {
    case idle
    case loading
    case loaded(User)
    case failed(String)
  }

  struct User: Decodable, Sendable {
    let id: Int
    let name: String
  }

  struct GetUser: NetworkRequest {
    typealias Response = User
    let id: Int
    var path: String { "/users/\(id)" }
    var method: HTTPMethod { .get }
    var retryPolicy: RetryPolicy { .transientFailures }
  }

  private(set) var state = State.idle
  private let manager: NetworkManager

  init(manager: NetworkManager) { self.manager = manager }

  /// Loads a user. The request is cancelled with its task, which SwiftUI cancels when the screen disappears.
  func load(_ id: Int) async {
    state = .loading
    do {
      state = .loaded(try await manager.send(GetUser(id: id)))
    } catch is CancellationError {
      state = .idle
    } catch {
      state = .failed(error.localizedDescription)
    }
  }
}
