#if canImport(Darwin)
  import Dispatch
  import Foundation

  /// The writing end of a stream that CFNetwork can schedule: it wants more of an `InputStream` than a subclass can give.
  /// It calls back on a queue, and so needs neither a run loop nor a thread that waits.
  ///
  /// Sendable, unchecked: it is handed to its pump, and belongs to the pump's queue.
  final class StreamSink: NSObject, BodySink, StreamDelegate, @unchecked Sendable {
    private let output: OutputStream
    private var onChange: (@Sendable () -> Void)?

    init(_ output: OutputStream) { self.output = output }

    /// The same body, unread, as a stream of the system's own, which the exchange fills.
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

    // A stream that has failed has no space; writing to it says so.
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
