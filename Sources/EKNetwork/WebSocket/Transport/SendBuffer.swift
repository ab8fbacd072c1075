#if os(Linux)
  /// The bytes that a connection has yet to send.
  struct SendBuffer {
    typealias Completion = @Sendable ((any Error)?) -> Void

    /// The result of ``write(_:)``.
    struct Progress {
      /// The completions of those that were sent completely.
      var finished: ArraySlice<Completion> = []
      /// Whether the rest has to wait.
      var isBlocked = false
      var failure: CurlError.Failure?
      /// Whether any byte was sent.
      var hasMoved = false
    }

    private struct Entry {
      var bytes: [UInt8]
      var offset = 0
    }

    /// The maximum size of a write. TLS requires a write to be repeated with the same bytes: each piece begins where
    /// the last one ended.
    private static let pieceSize = 256 * 1024

    private var entries: [Entry] = []
    private var completions: [Completion] = []

    var isEmpty: Bool { entries.isEmpty }
    var count: Int { entries.count }

    mutating func append(_ bytes: [UInt8], _ completion: @escaping Completion) {
      entries.append(Entry(bytes: bytes))
      completions.append(completion)
    }

    /// Sends as much as possible.
    ///
    mutating func write(_ send: (UnsafeRawBufferPointer) -> ConnectionBytes.Progress) -> Progress {
      var progress = Progress()
      var done = 0
      while done < entries.count, !progress.isBlocked, progress.failure == nil {
        let offset = entries[done].offset
        let sent = entries[done].bytes.withUnsafeBytes { bytes in
          let piece = bytes[offset...].prefix(Self.pieceSize)
          return piece.isEmpty ? .moved(0) : send(UnsafeRawBufferPointer(rebasing: piece))
        }
        switch sent {
        case .moved(let count):
          progress.hasMoved = true
          entries[done].offset += count
          if entries[done].offset == entries[done].bytes.count { done += 1 }
        case .mustWait, .closed: progress.isBlocked = true
        case .failed(let failure): progress.failure = failure
        }
      }
      progress.finished = completions[..<done]
      entries.removeFirst(done)
      completions.removeFirst(done)
      return progress
    }

    /// Removes everything, and returns the completions.
    mutating func removeAll() -> [Completion] {
      defer { (entries, completions) = ([], []) }
      return completions
    }
  }
#endif
