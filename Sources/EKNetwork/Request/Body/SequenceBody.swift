import Foundation

/// A body from an asynchronous sequence, which can be iterated once.
final class SequenceBody: Sendable {
  /// Returns the next bytes, which may be empty; `nil` at the end.
  typealias Puller = () async throws -> Data?

  let length: Int64?
  private let makePuller: @Sendable () -> Puller
  private let wasStarted = Locked(false)

  init<S: AsyncSequence & Sendable>(_ sequence: S, length: Int64?) where S.Element: DataProtocol {
    self.length = length
    makePuller = {
      var iterator = sequence.makeAsyncIterator()
      return { try await iterator.next().map { $0 as? Data ?? Data($0) } }
    }
  }

  /// Whether a request has begun to send the sequence.
  var isStarted: Bool { wasStarted.withLock { $0 } }

  /// Begins the only iteration.
  func start() throws(RequestBodyError) -> BodyPuller {
    let isFirst = wasStarted.withLock { wasStarted in
      defer { wasStarted = true }
      return !wasStarted
    }
    guard isFirst else { throw .alreadySent }
    return BodyPuller(makePuller(), length: length)
  }
}
