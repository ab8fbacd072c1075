import Foundation

/// A body whose bytes are all in memory.
final class BufferedBody: TransportBody {
  private enum State {
    case full(Data)
    case read
    case cancelled
  }

  private let state: Locked<State>

  let end: ResponseEnd?

  init(_ data: Data, end: ResponseEnd? = nil) {
    state = Locked(data.isEmpty ? .read : .full(data))
    self.end = end
  }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    return try state.withLock { state in
      switch state {
      case .full(let data):
        state = .read
        return data
      case .read: return nil
      case .cancelled: throw CancellationError()
      }
    }
  }

  func cancel() {
    state.withLock { $0 = .cancelled }
  }
}
