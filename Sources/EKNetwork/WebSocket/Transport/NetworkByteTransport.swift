import Foundation

/// A byte transport over a ``NetworkConnection``, which is an `NWConnection` on Apple platforms.
final class NetworkByteTransport: ByteTransport {
  typealias SendCompletion = @Sendable ((any Error)?) -> Void

  private struct State {
    var opening: CheckedContinuation<Void, any Error>?
    var receiving: CheckedContinuation<[UInt8], any Error>?
    var sending: [UInt64: SendCompletion] = [:]
    var sendCount: UInt64 = 0
    /// The error that has ended the transport: `cancel()`, or the connection's failure.
    var end: ByteTransportError?
    /// Whether the last bytes have been passed to the connection.
    var isFinished = false
    var isAtEnd = false
  }

  private static let largestRead = 256 * 1024

  private let url: URL?
  private let connection: any NetworkConnection
  private let state = Locked(State())

  init(_ address: ByteTransportEndpoint, over connection: any NetworkConnection) {
    url = URL(string: address.url)
    self.connection = connection
  }

  // A connection that is released without being cancelled stays open.
  deinit { connection.cancel() }

  func open() async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      let isTooLate = state.withLock { state in
        if state.end == nil { state.opening = continuation }
        return state.end != nil
      }
      // A connection that was cancelled before it started would never report it.
      if isTooLate { return continuation.resume(throwing: ByteTransportError.cancelled) }
      connection.start { [weak self] update in self?.changed(to: update) }
    }
  }

  private func changed(to update: NetworkConnectionUpdate) {
    switch update {
    case .ready: state.withLock { $0.opening.take() }?.resume()
    case .waiting(let failure, let text):
      // Like a URLSession that does not wait for connectivity: a caller that wants to wait tries again. An open
      // connection has lost its stream; what it would become is another one, without the handshake.
      end(.failed(text), opening: openingError(failure, text))
      connection.cancel()
    case .failed(let failure, let text):
      end(Self.ending(failure, text), opening: openingError(failure, text))
    case .cancelled: end(.cancelled, opening: ByteTransportError.cancelled)
    }
  }

  /// Returns the error for a connection that could not be opened: a `URLError`, as ``WebSocketError`` documents.
  private func openingError(_ failure: NetworkConnectionFailure, _ text: String) -> any Error {
    guard !failure.isCancellation else { return ByteTransportError.cancelled }
    var text = text
    #if os(watchOS)
      // Technical note 3135: allowed only for audio streaming, calls and the like.
      text += " (watchOS restricts low-level networking, and with it WebSockets)"
    #endif
    return URLError(failure.code, url: url, description: text)
  }

  private static func ending(_ failure: NetworkConnectionFailure, _ text: String) -> ByteTransportError {
    failure.isCancellation ? .cancelled : .failed(text)
  }

  private func end(_ error: ByteTransportError, opening: any Error) {
    let waiting = state.withLock { state in
      let waiting = state
      state.end = state.end ?? error
      (state.opening, state.receiving, state.sending) = (nil, nil, [:])
      return waiting
    }
    waiting.opening?.resume(throwing: opening)
    waiting.receiving?.resume(throwing: error)
    for (_, completion) in waiting.sending.sorted(by: { $0.key < $1.key }) { completion(error) }
  }

  func receive() async throws -> [UInt8] {
    try await withCheckedThrowingContinuation { continuation in
      let known: Result<[UInt8], any Error>? = state.withLock { state in
        if let end = state.end { return .failure(end) }
        // Another read would make the connection fail.
        if state.isAtEnd { return .success([]) }
        guard state.receiving == nil else { return .failure(ByteTransportError.cancelled) }
        state.receiving = continuation
        return nil
      }
      if let known { return continuation.resume(with: known) }
      connection.receive(maximumLength: Self.largestRead) { self.received($0, isComplete: $1, $2) }
    }
  }

  private func received(_ data: Data?, isComplete: Bool, _ failure: NetworkConnectionFailure?) {
    let continuation = state.withLock { state in
      if isComplete || failure?.isEnd == true { state.isAtEnd = true }
      return state.receiving.take()
    }
    if let data, !data.isEmpty {
      continuation?.resume(returning: [UInt8](data))
    } else if let failure, !failure.isEnd {
      continuation?.resume(throwing: Self.ending(failure, "\(failure)"))
    } else {
      continuation?.resume(returning: [])
    }
  }

  func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping SendCompletion) {
    let (number, end): (UInt64?, ByteTransportError?) = state.withLock { state in
      guard state.end == nil, !state.isFinished else { return (nil, state.end) }
      state.isFinished = isLast
      state.sendCount += 1
      state.sending[state.sendCount] = completion
      return (state.sendCount, nil)
    }
    guard let number else { return completion(end ?? .cancelled) }
    connection.send(Data(bytes)) { [self] failure in
      let completion = state.withLock { $0.sending.removeValue(forKey: number) }
      completion?(failure.map { Self.ending($0, "\($0)") })
    }
  }

  func cancel() {
    connection.cancel()
    end(.cancelled, opening: ByteTransportError.cancelled)
  }
}

/// The subset of a connection of Apple's Network framework that a byte transport uses.
///
/// Callbacks may come late or never: a connection that is cancelled before it starts does not call back.
protocol NetworkConnection: AnyObject, Sendable {
  /// Starts connecting. Called once.
  func start(_ handler: @escaping @Sendable (NetworkConnectionUpdate) -> Void)
  /// Receives what has arrived, at least one byte. `isComplete` is true with the last byte or after it.
  func receive(
    maximumLength: Int,
    _ completion: @escaping @Sendable (_ data: Data?, _ isComplete: Bool, NetworkConnectionFailure?) -> Void)
  /// Sends bytes after those of earlier calls.
  func send(_ data: Data, _ completion: @escaping @Sendable (NetworkConnectionFailure?) -> Void)
  func cancel()
}

enum NetworkConnectionUpdate: Sendable {
  /// The connection could not be opened, or is not open any more, and would be opened when the network has changed.
  case waiting(NetworkConnectionFailure, String)
  case ready
  case failed(NetworkConnectionFailure, String)
  case cancelled
}
