import Foundation

/// A response body that can still be read after it has been collected, by every copy of a response that shares it.
final class RereadableBody: TransportBody {
  private let state: Locked<any TransportBody>
  private let isRead = Locked(false)

  init(_ body: any TransportBody) { state = Locked(body) }

  /// The body to read now, without this wrapper.
  var current: any TransportBody { state.withLock { $0 } }

  func next() async throws -> Data? {
    let chunk = try await current.next()
    if chunk == nil { isRead.withLock { $0 = true } }
    return chunk
  }

  /// Cancels the body for a reader that has left. If that was before the end, the rest must not be taken for the whole.
  func cancel() {
    let body = current
    body.cancel()
    guard !isRead.withLock({ $0 }) else { return }
    state.withLock { $0 = FailedBody(NetworkMiddlewareError.invalidResponse) }
  }

  /// Reads the rest of the body, which can then be read again. The caller ensures that there is no other reader
  /// meanwhile.
  func collect(maximumSize: Int) async throws -> Data {
    let source = current
    var data = Data()
    do {
      while let chunk = try await source.next() {
        data.append(chunk)
        guard data.count <= maximumSize else {
          source.cancel()
          throw ResponseLimitError(limit: .size(Int64(maximumSize)))
        }
      }
    } catch {
      // The bytes read so far are lost: the rest must not be taken for the whole.
      state.withLock { $0 = FailedBody(error) }
      throw error
    }
    let collected = BufferedBody(data)
    state.withLock { $0 = collected }
    return data
  }
}
