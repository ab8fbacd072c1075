import Foundation

/// A response body that middleware may read before it returns the response: once as it arrives, or any number of times
/// after it has been collected, also by other copies of the response.
///
/// What middleware has read of a body that was not collected is missing: the caller gets an error then, and not the
/// rest as if it were the whole.
final class RereadableBody: TransportBody {
  private enum State {
    /// Nobody has read any of it.
    case unread(any TransportBody)
    /// A reader has begun; whether it has got any bytes.
    case begun(any TransportBody, hasBytes: Bool)
    /// All bytes; whether the current reader has got them.
    case collected(Data, isRead: Bool)
    /// The caller has it.
    case returned
    case lost(any Error)
  }

  private let state: Locked<State>
  private let ending: Locked<ResponseEnd?>

  init(_ body: any TransportBody) { (state, ending) = (Locked(.unread(body)), Locked(nil)) }

  init(_ data: Data, end: ResponseEnd? = nil) {
    (state, ending) = (Locked(.collected(data, isRead: false)), Locked(end))
  }

  var end: ResponseEnd? { ending.withLock { $0 } }

  /// Returns the body for the caller of the middleware, which reads it from now on.
  func take() -> any TransportBody {
    state.withLock { state in
      switch state {
      case .unread(let body):
        state = .returned
        return body
      case .collected(let data, _): return BufferedBody(data, end: end)
      case .begun, .returned: return FailedBody(NetworkMiddlewareError.invalidResponse)
      case .lost(let error): return FailedBody(error)
      }
    }
  }

  func next() async throws -> Data? {
    let (body, data): ((any TransportBody)?, Data?) = try state.withLock { state in
      switch state {
      case .unread(let body):
        // From here on: the caller must not get a body that is being read.
        state = .begun(body, hasBytes: false)
        return (body, nil)
      case .begun(let body, _): return (body, nil)
      case .collected(let data, let isRead):
        state = .collected(data, isRead: !isRead && !data.isEmpty)
        return (nil, isRead || data.isEmpty ? nil : data)
      case .returned: throw ConcurrentReadError()
      case .lost(let error): throw error
      }
    }
    guard let body else { return data }
    let chunk = try await body.next()
    if chunk == nil { ending.withLock { $0 = body.end } }
    state.withLock { state in
      guard case .begun(let body, let hasBytes) = state else { return }
      if chunk != nil {
        state = .begun(body, hasBytes: true)
      } else if !hasBytes {
        // Nothing is missing.
        state = .collected(Data(), isRead: false)
      }
    }
    return chunk
  }

  func cancel() { cancel(because: CancellationError()) }

  /// Cancels the body for a reader that has left before its end.
  func cancel(because error: any Error) {
    let body: (any TransportBody)? = state.withLock { state in
      switch state {
      case .unread(let body), .begun(let body, _):
        state = .lost(NetworkMiddlewareError.invalidResponse)
        return body
      case .collected(let data, _): state = .collected(data, isRead: false)
      case .returned, .lost: break
      }
      return nil
    }
    body?.cancel(because: error)
  }

  /// Reads the rest of the body, which can then be read again unless some of it had been read before. The caller
  /// ensures that there is no other reader meanwhile.
  func collect(maximumSize: Int) async throws -> Data {
    if case .collected(let data, _) = state.withLock({ $0 }) {
      guard data.count <= maximumSize else { throw ResponseLimitError(limit: .size(Int64(maximumSize))) }
      return data
    }
    let isWhole = state.withLock { if case .unread = $0 { true } else { false } }
    var data = Data()
    do {
      while let chunk = try await next() {
        data.append(chunk)
        guard data.count <= maximumSize else { throw ResponseLimitError(limit: .size(Int64(maximumSize))) }
      }
    } catch {
      // The bytes read so far are lost: the rest must not be taken for the whole.
      let body: (any TransportBody)? = state.withLock { state in
        guard case .begun(let body, _) = state else { return nil }
        state = .lost(error)
        return body
      }
      body?.cancel(because: error)
      throw error
    }
    if isWhole { state.withLock { $0 = .collected(data, isRead: false) } }
    return data
  }
}
