import Dispatch
import Foundation

@testable import EKNetwork

/// A ``NetworkConnection`` over a real socket that behaves like an `NWConnection`: it calls back late, on a queue, and
/// never if it was cancelled before it started; a refused one waits; the end comes together with the last bytes, and
/// receiving after it is an error.
///
/// Sendable, unchecked: `state` is a `Locked`; the client is read on one queue and written on another, as it allows.
final class SocketConnection: NetworkConnection, @unchecked Sendable {
  private struct State {
    var client: RawClient?
    var isStarted = false
    var isCancelled = false
    var handler: (@Sendable (NetworkConnectionUpdate) -> Void)?
  }

  private let port: Int
  private let callbacks = DispatchQueue(label: "SocketConnection.callbacks")
  private let reading = DispatchQueue(label: "SocketConnection.reading")
  private let writing = DispatchQueue(label: "SocketConnection.writing")
  private let state = Locked(State())

  init(port: Int) { self.port = port }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func start(_ handler: @escaping @Sendable (NetworkConnectionUpdate) -> Void) {
    let starts = state.withLock { state in
      state.isStarted = true
      state.handler = handler
      return !state.isCancelled
    }
    guard starts else { return }
    reading.async { [self] in
      do {
        let client = try RawClient(port: port)
        state.withLock { $0.client = client }
        callbacks.async { handler(.ready) }
      } catch {
        let code = (error as? RawClient.Failure).flatMap { POSIXErrorCode(rawValue: $0.code) } ?? .EIO
        callbacks.async { handler(.waiting(.posix(code), "\(code)")) }
      }
    }
  }

  func receive(
    maximumLength: Int, _ completion: @escaping @Sendable (Data?, Bool, NetworkConnectionFailure?) -> Void
  ) {
    reading.async { [self] in
      let (client, isCancelled) = state.withLock { ($0.client, $0.isCancelled) }
      guard let client, !isCancelled else {
        return callbacks.async { completion(nil, false, .posix(.ECANCELED)) }
      }
      do {
        let data = try client.read(upTo: maximumLength)
        let isLast = data.isEmpty || client.isAtEnd
        callbacks.async { completion(data.isEmpty ? nil : data, isLast, nil) }
      } catch {
        callbacks.async { completion(nil, false, self.isCancelled ? .posix(.ECANCELED) : .posix(.ECONNRESET)) }
      }
    }
  }

  func send(_ data: Data, _ completion: @escaping @Sendable (NetworkConnectionFailure?) -> Void) {
    writing.async { [self] in
      do {
        try state.withLock({ $0.client })?.write(data)
        callbacks.async { completion(nil) }
      } catch {
        callbacks.async { completion(.posix(.EPIPE)) }
      }
    }
  }

  func cancel() {
    let (client, handler) = state.withLock { state in
      defer { state.isCancelled = true }
      return (state.client, state.isStarted && !state.isCancelled ? state.handler : nil)
    }
    client?.hangUp()
    callbacks.async { handler?(.cancelled) }
  }
}
