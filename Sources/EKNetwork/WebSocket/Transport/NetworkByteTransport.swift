#if canImport(Darwin)
  import Foundation
  import Network

  /// Bytes over `NWConnection`.
  ///
  /// Unchecked: the mutable state is in `state`, behind its lock; `NWConnection` may be called from any thread.
  final class NetworkByteTransport: ByteTransport, @unchecked Sendable {
    private struct State {
      var opening: CheckedContinuation<Void, any Error>?
      var isFinished = false
    }

    private let connection: NWConnection
    private let queue = DispatchQueue(label: "EKNetwork.WebSocket")
    private let state = Locked(State())

    init(_ address: TransportAddress) {
      let parameters: NWParameters = address.isSecure ? .tls : .tcp
      let port = NWEndpoint.Port(rawValue: UInt16(clamping: address.port)) ?? .https
      connection = NWConnection(host: NWEndpoint.Host(address.host), port: port, using: parameters)
    }

    func open() async throws {
      try await withCheckedThrowingContinuation { continuation in
        state.withLock { $0.opening = continuation }
        connection.stateUpdateHandler = { [weak self] update in self?.changed(to: update) }
        connection.start(queue: queue)
      }
    }

    private func changed(to update: NWConnection.State) {
      let failure: (any Error)?
      switch update {
      case .ready: failure = nil
      case .failed(let error), .waiting(let error): failure = error
      case .cancelled: failure = ByteTransportError.cancelled
      default: return
      }
      let opening = state.withLock { state in
        defer { state.opening = nil }
        return state.opening
      }
      if let failure { opening?.resume(throwing: failure) } else { opening?.resume() }
    }

    func receive() async throws -> [UInt8] {
      try await withCheckedThrowingContinuation { continuation in
        connection.receive(minimumIncompleteLength: 1, maximumLength: 256 * 1024) { data, _, isComplete, error in
          if let data, !data.isEmpty {
            continuation.resume(returning: Array(data))
          } else if let error {
            continuation.resume(throwing: error)
          } else {
            continuation.resume(returning: [])
          }
        }
      }
    }

    func send(_ bytes: [UInt8], isLast: Bool, completion: @escaping @Sendable ((any Error)?) -> Void) {
      let isTooLate = state.withLock { state in
        defer { state.isFinished = state.isFinished || isLast }
        return state.isFinished
      }
      if isTooLate { return completion(ByteTransportError.cancelled) }
      connection.send(content: Data(bytes), completion: .contentProcessed { completion($0) })
    }

    func cancel() { connection.cancel() }
  }
#endif
