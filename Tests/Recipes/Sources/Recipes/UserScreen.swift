#if canImport(SwiftUI)
  import EKNetwork
  import SwiftUI

  struct UserScreen: View {
    @State private var model: UserModel
    @State private var attempt = 0
    let id: Int

    init(id: Int, manager: NetworkManager) {
      self.id = id
      _model = State(initialValue: UserModel(manager: manager))
    }

    var body: some View {
      Group {
        switch model.state {
        case .idle, .loading:
          ProgressView()
        case .loaded(let user):
          Text(user.name)
        case .failed(let reason):
          VStack {
            Text(reason)
            Button("Try again") { attempt += 1 }
          }
        }
      }
      // Starts when the screen appears or `attempt` changes, and is cancelled when it disappears.
      .task(id: attempt) { await model.load(id) }
    }
  }
#endif
