import Dispatch
import Foundation

/// A destination to which a body is written, piece by piece.
protocol BodySink: AnyObject {
  /// Opens the sink. `onChange` is called on the queue whenever there may be space again, or the reader is gone.
  func open(on queue: DispatchQueue, onChange: @escaping @Sendable () -> Void)
  /// Whether a write would not block.
  var hasSpace: Bool { get }
  /// Writes as much as fits and returns how much that was; zero or a negative number if the other end is closed.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int
  /// Closes the sink, which ends the body.
  func close()
}

/// A pump that writes a body to a stream as fast as the stream accepts it. No thread waits for the stream or for the
/// body.
///
/// The end of the stream is the end of the body: without a length, a server takes what arrived before it for the whole.
/// So neither a body that fails nor an exchange that ends early closes the stream; it is closed when the task is over.
///
/// Sendable, unchecked: all mutable state belongs to `queue`.
final class BodyPump: @unchecked Sendable {
  private static let blockSize = 64 * 1024

  private let upload: any UploadSource
  private let onFailure: @Sendable (any Error) -> Void
  private let queue = DispatchQueue(label: "EKNetwork.BodyPump")
  private let sink: any BodySink
  private var isClosed = false
  private var block = [UInt8]()
  private var pending = 0..<0
  private var isFlowing = false

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

  /// Stops reading and sending without ending the body: the exchange is over, the task not yet.
  func cancel() { queue.async { self.stop() } }

  /// Stops the pump and closes the sink, because the task is over.
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
        // The reader is gone, and reports the reason itself.
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

#if !canImport(Darwin)
  extension HTTPRequest {
    /// The body as a sequence, if its bytes may have to be waited for.
    var bodyThatMayWait: SequenceBody? {
      guard let stream else { return nil }
      return switch bodySource {
      case .segments?: nil
      case .sequence(let sequence)?: sequence
      case .stream(let sized)?: SequenceBody(sized.stream.pieces, length: sized.length)
      case nil: SequenceBody(stream.pieces, length: nil)
      }
    }
  }

  extension InputStream {
    /// The bytes, read on a queue of their own.
    fileprivate var pieces: AsyncThrowingStream<Data, any Error> {
      let queue = BlockingQueue(label: "EKNetwork.Stream")
      // Only the queue uses it.
      nonisolated(unsafe) let reader = InputStreamReader(self)
      return AsyncThrowingStream {
        try await queue.run { () throws(any Error) -> Data? in
          var piece = Data(count: 256 * 1024)
          let count = try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
          if count == 0 { reader.close() }
          return count > 0 ? piece.prefix(count) : nil
        }
      }
    }
  }
#endif
