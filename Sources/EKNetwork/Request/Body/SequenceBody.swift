import Foundation

/// A body from an asynchronous sequence, which can be iterated once, or of which each iteration is a new one.
final class SequenceBody: Sendable {
  /// Returns the next bytes, which may be empty; `nil` at the end.
  typealias Puller = () async throws -> Data?
  /// Makes the trailer fields, once the last byte of the body is known.
  typealias TrailerMaker = @Sendable () async throws -> HeaderFieldList

  let length: Int64?
  let isReplayable: Bool
  /// `nil` if no fields follow the body.
  let trailers: TrailerMaker?
  private let makePuller: @Sendable () -> Puller
  private let wasStarted = Locked(false)

  convenience init<S: AsyncSequence & Sendable>(
    _ sequence: S, length: Int64?, trailers: TrailerMaker? = nil
  ) where S.Element: DataProtocol {
    self.init(length: length, trailers: trailers, isReplayable: false) { sequence }
  }

  init<S: AsyncSequence & Sendable>(
    length: Int64?, trailers: TrailerMaker? = nil, isReplayable: Bool = true,
    makeSequence: @escaping @Sendable () -> S
  ) where S.Element: DataProtocol {
    self.length = length
    self.trailers = trailers
    self.isReplayable = isReplayable
    makePuller = {
      var iterator: S.AsyncIterator?
      return {
        // Not before: what makes the sequence is code of the user, which must not keep an event loop.
        if iterator == nil { iterator = makeSequence().makeAsyncIterator() }
        return try await iterator?.next().map { $0 as? Data ?? Data($0) }
      }
    }
  }

  /// Whether it cannot be sent, because a request has begun to.
  var isUsedUp: Bool { !isReplayable && wasStarted.withLock { $0 } }

  func start() throws(RequestBodyError) -> BodyPuller {
    let isFirst = !wasStarted.withLock { exchange(&$0, with: true) }
    guard isFirst || isReplayable else { throw .alreadySent }
    return BodyPuller(makePuller(), length: length)
  }

  /// Writes the whole sequence to an unlinked temporary file, which is deleted with its last reader.
  func spooled(on queue: BlockingQueue = BlockingQueue(label: "EKNetwork.Spool")) async throws -> FileSegment {
    let puller = try start()
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")
    let file = try await queue.run { () throws(RequestBodyError) in
      guard let file = OpenFile(url.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC) else {
        throw .fileNotReadable(url, code: errno)
      }
      unlink(url.path)
      return file
    }
    var size: Int64 = 0
    while let piece = try await puller.next() {
      try await queue.run { () throws(RequestBodyError) in
        guard file.append(piece) else { throw .fileNotReadable(url, code: errno) }
      }
      size += Int64(piece.count)
    }
    return FileSegment(unlinked: file, name: url, size: size)
  }
}
