#if canImport(Darwin)
  import Dispatch
  import Foundation

  /// The writing end of a stream that CFNetwork can schedule: it requires more of an `InputStream` than a subclass can
  /// implement. Its callbacks arrive on a queue, so neither a run loop nor a waiting thread is needed.
  ///
  /// Sendable, unchecked: it is passed to its pump, and then only used on the pump's queue.
  final class StreamSink: NSObject, BodySink, StreamDelegate, @unchecked Sendable {
    private let output: OutputStream
    private var onChange: (@Sendable () -> Void)?

    init(_ output: OutputStream) { self.output = output }

    /// Returns the same body, unread, as a stream of the system's own, which the exchange fills.
    static func makeStream(_ body: BodyInputStream, for taskResponse: TaskResponseStream) -> InputStream? {
      var input: InputStream?
      var output: OutputStream?
      Stream.getBoundStreams(withBufferSize: 64 * 1024, inputStream: &input, outputStream: &output)
      guard let input, let output else { return nil }
      taskResponse.pump(body, into: StreamSink(output))
      return input
    }

    func open(on queue: DispatchQueue, onChange: @escaping @Sendable () -> Void) {
      self.onChange = onChange
      output.delegate = self
      CFWriteStreamSetDispatchQueue(output as CFWriteStream, queue)
      output.open()
    }

    // A failed stream reports no space: it is written to nevertheless, because the write returns the error.
    var hasSpace: Bool { output.hasSpaceAvailable || output.streamStatus == .error || output.streamStatus == .closed }

    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
      bytes.withMemoryRebound(to: UInt8.self) { bytes in
        bytes.baseAddress.map { output.write($0, maxLength: bytes.count) } ?? 0
      }
    }

    func close() {
      output.delegate = nil
      output.close()
    }

    func stream(_ stream: Stream, handle event: Stream.Event) { onChange?() }
  }
#endif
