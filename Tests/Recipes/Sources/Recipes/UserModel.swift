import EKNetwork
import Observation

/// What a screen shows of a user, and the one task that loads it.
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
  private let manager: any NetworkManaging

  init(manager: any NetworkManaging) { self.manager = manager }

  /// Cancelled with its task: the screen's own ends when it disappears, and the request with it.
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
