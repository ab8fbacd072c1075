import Foundation

/// A body whose bytes may have to be waited for, which are therefore read ahead of the wire, by a few pieces at most.
///
/// A body that cannot be replayed refuses to rewind once a byte has been handed on, so that a lost connection fails the
/// request instead of sending the rest of the body as if it were the whole.
final class ReadAheadUpload: UploadSource, @unchecked Sendable {
  private struct State {
    /// The current pass over the body: what an earlier one delivers is discarded.
    var feed: any UploadFeed
    var pieces: [Data] = []
    /// What follows the pieces, once it is known.
    var end: UploadRead?
    var trailers: [UInt8] = []
    var isReading = false
    /// Whether a read has found nothing, and waits for the ready handler.
    var isAwaited = false
    var hasHandedOn = false
    var isClosed = false
    var onReady: (@Sendable () -> Void)?
  }

  private let declaredLength: Int64?
  private let isMeasured: Bool
  private let isReplayable: Bool
  private let piecesAhead: Int
  // Unchecked: called by `init` and by `rewind`, which the thread of the event loop calls.
  private let makeFeed: () -> any UploadFeed
  private let state: Locked<State>

  /// - Parameters:
  ///   - length: The number of bytes, if it is known.
  ///   - isMeasured: Whether that is certain, and not what the user has declared.
  ///   - piecesAhead: How many pieces are read before they are asked for.
  ///   - feed: Makes a pass over the body.
  init(
    length: Int64?, isMeasured: Bool = false, isReplayable: Bool, piecesAhead: Int = 3,
    _ feed: @autoclosure @escaping () -> any UploadFeed
  ) {
    declaredLength = length
    self.isMeasured = isMeasured
    self.isReplayable = isReplayable
    self.piecesAhead = piecesAhead
    makeFeed = feed
    state = Locked(State(feed: feed()))
  }

  var length: Int64? { isDeclaredEmpty ? nil : declaredLength }
  var isDeclaredEmpty: Bool { declaredLength == 0 && !isMeasured }
  var trailers: [UInt8] { state.withLock(\.trailers) }

  func setReadyHandler(_ handler: @escaping @Sendable () -> Void) {
    state.withLock { $0.onReady = handler }
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    // A piece that has been taken is released outside the lock: its memory may be the user's.
    let (result, piece, feed) = state.withLock { state in
      let piece = state.pieces.first
      return (Self.take(from: &state, into: buffer), piece, nextFeed(&state))
    }
    withExtendedLifetime(piece) {}
    if let feed, let error = readNext(from: feed) { return .failed(error) }
    return result
  }

  func rewind() -> Bool {
    guard isReplayable else { return state.withLock { !$0.hasHandedOn } }
    let feed = makeFeed()
    let (mayBegin, old): (Bool, State?) = state.withLock { state in
      guard state.hasHandedOn, !state.isClosed else { return (!state.isClosed, nil) }
      return (true, exchange(&state, with: State(feed: feed, onReady: state.onReady)))
    }
    old?.feed.close()
    return mayBegin
  }

  func close() {
    let old = state.withLock { state in
      exchange(
        &state,
        with: State(
          feed: state.feed, end: .failed(CancellationError()), hasHandedOn: state.hasHandedOn, isClosed: true))
    }
    old.feed.close()
  }

  private static func take(from state: inout State, into buffer: UnsafeMutableRawBufferPointer) -> UploadRead {
    guard let piece = state.pieces.first else {
      if let end = state.end { return end }
      state.isAwaited = true
      return .pending
    }
    state.hasHandedOn = true
    let count = min(buffer.count, piece.count)
    piece.withUnsafeBytes { buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
    if count == piece.count { state.pieces.removeFirst() } else { state.pieces[0] = piece.dropFirst(count) }
    return .bytes(count)
  }

  /// Returns the feed if the next piece has to be read, which the caller does outside the lock.
  private func nextFeed(_ state: inout State) -> (any UploadFeed)? {
    guard !state.isReading, state.end == nil, state.isAwaited || state.pieces.count < piecesAhead else { return nil }
    state.isReading = true
    return state.feed
  }

  /// Returns the error of a body that cannot be read at all.
  @discardableResult
  private func readNext(from feed: any UploadFeed) -> (any Error)? {
    do {
      try feed.next { [self] in received($0, from: feed) }
      return nil
    } catch {
      state.withLock { $0.end = .failed(error) }
      return error
    }
  }

  private func received(_ result: Result<UploadPiece, any Error>, from feed: any UploadFeed) {
    let (onReady, next): ((@Sendable () -> Void)?, (any UploadFeed)?) = state.withLock { state in
      guard state.feed === feed, !state.isClosed else { return (nil, nil) }
      state.isReading = false
      switch result {
      case .success(let piece):
        if !piece.bytes.isEmpty { state.pieces.append(piece.bytes) }
        if piece.isLast { (state.end, state.trailers) = (.end, piece.trailers) }
      case .failure(let error): state.end = .failed(error)
      }
      let onReady = exchange(&state.isAwaited, with: false) ? state.onReady : nil
      return (onReady, nextFeed(&state))
    }
    onReady?()
    if let next { readNext(from: next) }
  }
}
