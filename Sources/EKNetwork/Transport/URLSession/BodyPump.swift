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
/// The end of the stream is the end of the body: without a length, a server takes what came until then for the whole. So
/// neither a body that fails nor an exchange that ends early closes the stream; the task does when it is over.
///
/// Sendable, unchecked: everything mutable belongs to `queue`.
final class BodyPump: @unchecked Sendable {
  private static let blockSize = 64 * 1024

  private let upload: any UploadSource
  private let onFailure: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "EKNetwork.BodyPump")
  private let sink: any BodySink
  private var isClosed = false
  private var block = [UInt8]()
  /// What of the block has still to be written.
  private var pending = 0..<0
  private var isFlowing = false

  /// The sink belongs to the pump from here on.
  init(
    _ upload: any UploadSource, into sink: sending any BodySink, onFailure: @escaping @Sendable (any Error) -> Void
  ) {
    self.upload = upload
    self.sink = sink
    self.onFailure = onFailure
  }

  func start() {
    queue.async {
      self.isFlowing = true
      self.block = [UInt8](repeating: 0, count: Self.blockSize)
      let again: @Sendable () -> Void = { [weak self] in
        guard let self else { return }
        queue.async { self.flow() }
      }
      self.upload.setReadyHandler(again)
      self.sink.open(on: self.queue, onChange: again)
      self.flow()
    }
  }

  /// The exchange is over, the task not yet: nothing more is read or sent, and the body does not end.
  func cancel() { queue.async { self.stop() } }

  /// The task is over.
  func close() {
    queue.async {
      self.stop()
      self.closeSink()
    }
  }

  private func closeSink() {
    guard !isClosed else { return }
    isClosed = true
    sink.close()
  }

  private func stop() {
    isFlowing = false
    upload.close()
    block = []
  }

  private func flow() {
    while isFlowing {
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
        closeSink()
      case .failed(let error):
        stop()
        onFailure(error)
      }
    }
  }
}
