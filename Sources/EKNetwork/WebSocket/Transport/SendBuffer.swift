#if os(Linux)
  import CCurl

  /// The bytes that a connection has yet to send.
  struct SendBuffer {
    typealias Completion = @Sendable ((any Error)?) -> Void

    /// The result of ``write(_:)``.
    struct Progress {
      /// The completions of those that were sent completely.
      var finished: ArraySlice<Completion> = []
      /// libcurl's code: `EKN_AGAIN` if the rest has to wait.
      var code: Int32 = 0
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
    /// - Parameter send: Sends bytes, stores how many, and returns libcurl's code.
    mutating func write(_ send: (UnsafeRawBufferPointer, inout Int) -> Int32) -> Progress {
      var progress = Progress()
      var done = 0
      while done < entries.count {
        let offset = entries[done].offset
        var sent = 0
        progress.code = entries[done].bytes.withUnsafeBytes { bytes in
          let piece = bytes[offset...].prefix(Self.pieceSize)
          return piece.isEmpty ? 0 : send(UnsafeRawBufferPointer(rebasing: piece), &sent)
        }
        guard progress.code == 0 else { break }
        progress.hasMoved = true
        entries[done].offset += sent
        if entries[done].offset == entries[done].bytes.count { done += 1 }
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
