import Foundation

/// A response body that can be collected and then read as if nobody had: by every copy of a response that shares it.
final class RereadableBody: TransportBody {
  private let state: Locked<any TransportBody>

  init(_ body: any TransportBody) { state = Locked(body) }

  /// What there is to read now, without this around it.
  var current: any TransportBody { state.withLock { $0 } }

  func next() async throws -> Data? { try await current.next() }

  func cancel() { current.cancel() }

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
