import Foundation

/// A body that is recorded while it is read, however that ends.
final class RecordingBody: TransportBody {
  private struct State {
    var content = HARContent()
    var isOver = false
  }

  private let body: any TransportBody
  private let limit: Int
  private let finish: @Sendable (HARContent, (any Error)?, NetworkTimings?) -> Void
  private let state = Locked(State())

  /// - Parameters:
  ///   - limit: The maximum number of bytes to record.
  ///   - finish: Called once with what was read: at the end of the body, when it fails, or when the rest is not needed.
  init(
    _ body: any TransportBody, limit: Int,
    finish: @escaping @Sendable (HARContent, (any Error)?, NetworkTimings?) -> Void
  ) {
    self.body = body
    self.limit = limit
    self.finish = finish
  }

  deinit { end(CancellationError()) }

  var end: ResponseEnd? { body.end }

  func next() async throws -> Data? {
    do {
      guard let chunk = try await body.next() else {
        end(nil)
        return nil
      }
      state.withLock { state in
        if !state.isOver { state.content.append(chunk, limit: limit) }
      }
      return chunk
    } catch {
      end(error)
      throw error
    }
  }

  func cancel() {
    body.cancel()
    end(CancellationError())
  }

  private func end(_ error: (any Error)?) {
    let content: HARContent? = state.withLock { state in
      guard !state.isOver else { return nil }
      state.isOver = true
      defer { state.content = HARContent() }
      return state.content
    }
    if let content { finish(content, error, error == nil ? body.end?.timings : nil) }
  }
}
