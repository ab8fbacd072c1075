import Dispatch
import Foundation

/// A body from an `InputStream`, which may block: it is read ahead, one block at a time, on a queue of its own.
///
/// One-shot. Once a byte has been handed on, `rewind` is refused, so that a connection that dies fails the request
/// instead of sending the rest of the body as if it were the whole.
final class StreamUpload: UploadSource, @unchecked Sendable {
  private struct State {
    var block: [UInt8] = []
    var offset = 0
    var isReading = false
    var isAtEnd = false
    var isClosed = false
    var error: (any Error)?
    var wantsNotice = false
    var hasHandedOn = false
    var onReady: (@Sendable () -> Void)?
  }

  private enum Step {
    case answer(UploadRead)
    case startReading
  }

  private static let blockSize = 64 * 1024

  // Unchecked: the stream is touched on `queue` alone, everything else is inside the lock.
  private let stream: InputStream
  private let queue = DispatchQueue(label: "EKNetwork.StreamUpload")
  private let state = Locked(State())

  init(_ stream: InputStream) { self.stream = stream }

  var length: Int64? { nil }

  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {
    state.withLock { $0.onReady = handler }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    let step: Step = state.withLock { state in
      let available = state.block.count - state.offset
      if available > 0 {
        let count = min(available, buffer.count)
        state.block.withUnsafeBytes { bytes in
          buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[state.offset..<(state.offset + count)]))
        }
        state.offset += count
        state.hasHandedOn = true
        return .answer(.bytes(count))
      }
      if let error = state.error { return .answer(.failed(error)) }
      if state.isAtEnd { return .answer(.end) }
      state.wantsNotice = true
      guard !state.isReading else { return .answer(.pending) }
      state.isReading = true
      return .startReading
    }
    guard case .answer(let answer) = step else {
      queue.async { self.readBlock() }
      return .pending
    }
    return answer
  }

  func rewind() -> Bool { state.withLock { !$0.hasHandedOn } }

  func close() {
    let mustClose = state.withLock { state in
      defer {
        state.isClosed = true
        state.onReady = nil
      }
      return !state.isClosed
    }
    if mustClose { queue.async { self.stream.close() } }
  }

  private func readBlock() {
    guard !state.withLock({ $0.isClosed }) else { return }
    if stream.streamStatus == .notOpen { stream.open() }
    var block = [UInt8](repeating: 0, count: Self.blockSize)
    let count = stream.read(&block, maxLength: Self.blockSize)
    block.removeLast(Self.blockSize - max(0, count))
    let error = count < 0 ? stream.streamError ?? URLError(.requestBodyStreamExhausted) : nil
    let notify: (@Sendable () -> Void)? = state.withLock { state in
      state.isReading = false
      state.block = block
      state.offset = 0
      if count == 0 { state.isAtEnd = true }
      state.error = error
      guard state.wantsNotice else { return nil }
      state.wantsNotice = false
      return state.onReady
    }
    notify?()
  }
}
