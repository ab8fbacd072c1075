import Foundation

/// A body from an asynchronous sequence, which is pulled piece by piece as the server accepts it.
///
/// Unless each iteration is of a new sequence, it can be sent once, like a ``ReadAheadUpload`` of a stream.
final class SequenceUpload: UploadSource, @unchecked Sendable {
  // Unchecked: all state is accessed inside the lock.
  private enum Phase {
    case idle
    case pulling(Task<Void, Never>?)
    /// There is nothing more to read than this.
    case ended(UploadRead)
    case closed
  }

  private struct State {
    var puller: BodyPuller?
    var piece = Data()
    var trailers: [UInt8] = []
    var phase = Phase.idle
    var hasHandedOn = false
    /// The pass over the body: what belongs to an earlier one is discarded.
    var pass = 0
    var onReady: (@Sendable () -> Void)?
  }

  private let body: SequenceBody
  private let state = Locked(State())
  /// What the request is part of, and so is the sequence, which is pulled from the transport's own thread.
  private let enclosing = EnclosingWork.current

  init(_ body: SequenceBody) { self.body = body }

  var length: Int64? { isDeclaredEmpty ? nil : body.length }
  var isDeclaredEmpty: Bool { body.length == 0 }
  var trailers: [UInt8] { state.withLock(\.trailers) }

  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {
    state.withLock { $0.onReady = handler }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let (result, puller): (UploadRead?, BodyPuller?) = state.withLock { state in
      guard state.piece.isEmpty else { return (Self.take(from: &state, into: buffer), nil) }
      switch state.phase {
      case .idle:
        state.phase = .pulling(nil)
        return (nil, state.puller)
      case .pulling: return (.pending, nil)
      case .ended(let result): return (result, nil)
      case .closed: return (.failed(CancellationError()), nil)
      }
    }
    if let result { return result }
    do {
      // What makes a new sequence is code of the user, which must not keep the loop.
      pull(from: try puller ?? (body.isReplayable ? nil : body.start()))
      return .pending
    } catch {
      return .failed(error)
    }
  }

  func rewind() -> Bool {
    let (mayBegin, task): (Bool, Task<Void, Never>?) = state.withLock { state in
      guard state.hasHandedOn else { return (true, nil) }
      guard body.isReplayable else { return (false, nil) }
      if case .closed = state.phase { return (false, nil) }
      var pulling: Task<Void, Never>?
      if case .pulling(let task) = state.phase { pulling = task }
      (state.puller, state.piece, state.phase, state.hasHandedOn) = (nil, Data(), .idle, false)
      state.trailers = []
      state.pass += 1
      return (true, pulling)
    }
    task?.cancel()
    return mayBegin
  }

  func close() {
    let task: Task<Void, Never>? = state.withLock { state in
      defer {
        state.phase = .closed
        state.piece = Data()
        state.onReady = nil
      }
      if case .pulling(let task) = state.phase { return task }
      return nil
    }
    task?.cancel()
  }

  private static func take(from state: inout State, into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let count = min(buffer.count, state.piece.count)
    state.piece.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    state.piece = state.piece.count == count ? Data() : state.piece.dropFirst(count)
    state.hasHandedOn = true
    return .bytes(count)
  }

  /// - Parameter puller: `nil` for that of a new sequence.
  private func pull(from given: BodyPuller?) {
    let pass = state.withLock { $0.pass }
    let task = Task { [self] in
      let result: Result<Data?, any Error>
      var trailers: [UInt8] = []
      var puller = given
      do {
        let piece = try await EnclosingWork.continuing(enclosing) {
          let next = try puller ?? body.start()
          puller = next
          return try await next.next()
        }
        if piece == nil, let make = body.trailers {
          trailers = try RequestTrailers.lines(of: try await EnclosingWork.continuing(enclosing, make))
        }
        result = .success(piece)
      } catch { result = .failure(error) }
      let notify: (@Sendable () -> Void)? = state.withLock { state in
        guard state.pass == pass, case .pulling = state.phase else { return nil }
        state.puller = puller
        switch result {
        case .success(let piece?):
          state.piece = piece
          state.phase = .idle
        case .success(nil): (state.phase, state.trailers) = (.ended(.end), trailers)
        case .failure(let error): state.phase = .ended(.failed(error))
        }
        return state.onReady
      }
      notify?()
    }
    let isClosed = state.withLock { state in
      guard state.pass == pass else { return true }
      switch state.phase {
      case .pulling: state.phase = .pulling(task)
      case .closed: return true
      default: break
      }
      return false
    }
    if isClosed { task.cancel() }
  }
}

/// The trailer fields of a request (RFC 9110 §6.5), which follow its body.
enum RequestTrailers {
  /// What RFC 9110 §6.5.1 forbids: fields that frame or route the message, that say how the request or its content is to be
  /// processed, or that authenticate its sender. A recipient that merges trailers into the head would act on them.
  private static let forbidden: Set<String> = [
    "authorization", "cache-control", "connection", "content-encoding", "content-length", "content-location",
    "content-range", "content-type", "cookie", "expect", "host", "keep-alive", "max-forwards", "pragma",
    "proxy-authorization", "proxy-connection", "range", "te", "trailer", "transfer-encoding", "upgrade",
  ]

  /// Returns the fields as lines, each with its line end.
  ///
  /// - Throws: ``InvalidHeaderError``.
  static func lines(of fields: HeaderFieldList) throws(InvalidHeaderError) -> [UInt8] {
    var checked: [(name: String, value: String)] = []
    for field in fields {
      let value = try InvalidHeaderError.checked(field.value, of: field.name)
      let name = field.name.lowercased()
      guard !forbidden.contains(name), !name.hasPrefix("if-") else {
        throw InvalidHeaderError(field: field.name, reason: .managedByLibrary)
      }
      checked.append((field.name, value))
    }
    return HeaderBlock(checked).bytes
  }
}
