import Foundation

/// A body in pieces.
struct Pieces<Piece: DataProtocol & Sendable>: AsyncSequence, Sendable {
  let pieces: [Piece]
  init(_ pieces: [Piece]) { self.pieces = pieces }

  struct AsyncIterator: AsyncIteratorProtocol {
    var rest: ArraySlice<Piece>
    mutating func next() async -> Piece? { rest.popFirst() }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pieces[...]) }
}

extension Pieces where Piece == Data {
  /// For literals.
  init(_ pieces: [Data]) { self.pieces = pieces }
}
