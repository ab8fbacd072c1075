#if canImport(Darwin)
  import Dispatch
  import Foundation

  /// Streams that CFNetwork can schedule: it wants more of an `InputStream` than a subclass can give.
  enum SystemStream {
    /// The same body, unread, as a stream of the system's own.
    static func make(_ body: BodyStream) -> InputStream? {
      switch body.source {
      case .stream(let sized): return sized.stream
      case .segments(let segments):
        if case .file(let file)? = segments.first, segments.count == 1 { return InputStream(url: file.url) }
        return bound(to: body.unread)
      case .sequence: return bound(to: body.unread)
      }
    }

    /// One end of a pair; a queue of its own fills the other one, and waits where the network is slower.
    private static func bound(to source: BodyStream) -> InputStream? {
      var input: InputStream?
      var output: OutputStream?
      Stream.getBoundStreams(withBufferSize: 64 * 1024, inputStream: &input, outputStream: &output)
      guard let input, let output else { return nil }
      // Unchecked: from here on the pump alone has them.
      nonisolated(unsafe) let pump = (source: source, output: output)
      DispatchQueue(label: "EKNetwork.SystemStream").async {
        copy(from: pump.source, to: pump.output)
      }
      return input
    }

    /// What goes wrong here ends the stream early, and the task with it: the announced length is not reached.
    private static func copy(from source: BodyStream, to output: OutputStream) {
      source.open()
      output.open()
      defer {
        source.close()
        output.close()
      }
      var block = [UInt8](repeating: 0, count: 64 * 1024)
      while true {
        let count = source.read(&block, maxLength: block.count)
        guard count > 0 else { return }
        var written = 0
        while written < count {
          let more = block.withUnsafeBufferPointer { buffer in
            buffer.baseAddress.map { output.write($0 + written, maxLength: count - written) } ?? 0
          }
          guard more > 0 else { return }
          written += more
        }
      }
    }
  }
#endif
