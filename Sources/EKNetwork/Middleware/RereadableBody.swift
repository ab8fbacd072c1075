import Foundation

/// A response body that can be collected and then read as if nobody had: by every copy of a response that shares it.
final class RereadableBody: TransportBody {
  private let state: Locked<any TransportBody>
  private let isRead = Locked(false)

  init(_ body: any TransportBody) { state = Locked(body) }

  /// What there is to read now, without this around it.
  var current: any TransportBody { state.withLock { $0 } }

  func next() async throws -> Data? {
    let chunk = try await current.next()
    if chunk == nil { isRead.withLock { $0 = true } }
    return chunk
  }

  /// A reader has left. Where that was before the end, the rest must not pass for the whole.
  func cancel() {
    let body = current
    body.cancel()
    guard !isRead.withLock({ $0 }) else { return }
    state.withLock { $0 = FailedBody(NetworkMiddlewareError.invalidResponse) }
  }

  /// Reads what is left, which is then there again. The caller sees to it that nobody else reads meanwhile.
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
      // What has been read is gone: the rest must not pass for the whole.
      state.withLock { $0 = FailedBody(error) }
      throw error
    }
    let collected = BufferedBody(data)
    state.withLock { $0 = collected }
    return data
  }
}
