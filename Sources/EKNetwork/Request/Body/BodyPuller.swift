import Foundation

/// Pulls the chunks of a body and checks them against its declared length.
///
/// Sendable, unchecked: one caller at a time, each after the previous call has returned.
final class BodyPuller: @unchecked Sendable {
  private let pull: SequenceBody.Puller
  private let declared: Int64?
  private var count: Int64 = 0
  private var isAtEnd = false

  init(_ pull: @escaping SequenceBody.Puller, length: Int64?) {
    self.pull = pull
    declared = length
  }

  /// Returns the next chunk, which is never empty; `nil` at the end.
  ///
  /// The chunk that completes the declared length is withheld until the sequence has ended: a server must not receive a
  /// body that looks complete but is not.
  func next() async throws -> Data? {
    guard let piece = try await nextPiece() else {
      if let declared, count < declared { throw RequestBodyError.lengthMismatch(declared: declared, actual: count) }
      return nil
    }
    guard let declared, count >= declared else { return piece }
    if count == declared, try await nextPiece() == nil { return piece }
    throw RequestBodyError.lengthMismatch(declared: declared, actual: count)
  }

  private func nextPiece() async throws -> Data? {
    while !isAtEnd {
      try Task.checkCancellation()
      guard let piece = try await pull() else {
        // An `AsyncStream` ends when its task is cancelled: what it has returned is not the whole body.
        try Task.checkCancellation()
        break
      }
      count += Int64(piece.count)
      if !piece.isEmpty { return piece }
    }
    isAtEnd = true
    return nil
  }
}
