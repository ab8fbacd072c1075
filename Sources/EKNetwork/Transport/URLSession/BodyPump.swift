import Dispatch
import Foundation

/// What a body is written to, piece by piece.
protocol BodySink: AnyObject {
  /// Opens it. `onChange` is called on the queue whenever there may be room again, or the reader is gone.
  func open(on queue: DispatchQueue, onChange: @escaping @Sendable () -> Void)
  /// Whether a write would not wait.
  var hasSpace: Bool { get }
  /// Writes what fits, and says how much that was; nothing or less when the other end is closed.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int
  /// The body ends here.
  func close()
}

/// Carries a body into a stream as fast as the stream takes it. No thread waits, for the stream or for the body.
///
/// A body that fails does not end the stream: a server would take the half for the whole. It ends with the exchange.
///
/// Sendable, unchecked: everything mutable belongs to `queue`.
final class BodyPump: @unchecked Sendable {
  private static let blockSize = 64 * 1024

  private let upload: any UploadSource
  private let onFailure: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "EKNetwork.BodyPump")
  private var sink: (any BodySink)?
  private var block = [UInt8]()
  /// What of the block has still to be written.
  private var pending = 0..<0
  private var isFlowing = false

  init(_ upload: any UploadSource, onFailure: @escaping @Sendable (any Error) -> Void) {
    self.upload = upload
    self.onFailure = onFailure
  }

  /// Begins. The sink belongs to the pump from here on.
  func start(_ sink: sending any BodySink) {
    // Unchecked: handed over, to the queue.
    nonisolated(unsafe) let sink = sink
    queue.async {
      self.sink = sink
      self.isFlowing = true
      self.block = [UInt8](repeating: 0, count: Self.blockSize)
      let again: @Sendable () -> Void = { [weak self] in
        guard let self else { return }
        queue.async { self.flow() }
      }
      self.upload.setReadyHandler(again)
      sink.open(on: self.queue, onChange: again)
      self.flow()
    }
  }

  /// The exchange is over: what waits for the body is let go of.
  func cancel() {
    queue.async {
      self.stop()
      self.sink?.close()
      self.sink = nil
    }
  }

  private func stop() {
    isFlowing = false
    upload.close()
    block = []
  }

  private func flow() {
    while isFlowing, let sink {
      guard sink.hasSpace else { return }
      if !pending.isEmpty {
        let count = block.withUnsafeBytes { sink.write(UnsafeRawBufferPointer(rebasing: $0[pending])) }
        // The reader is gone, and says itself why.
        guard count > 0 else { return stop() }
        pending = min(pending.lowerBound + count, pending.upperBound)..<pending.upperBound
        continue
      }
      switch block.withUnsafeMutableBytes({ upload.read(into: $0) }) {
      case .bytes(let count): pending = 0..<count
      case .pending: return
      case .end:
        stop()
        sink.close()
        self.sink = nil
      case .failed(let error):
        stop()
        onFailure(error)
      }
    }
  }
}
