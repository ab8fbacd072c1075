import Foundation

/// The body of a response as a recording has it, which grows while it is read.
struct HARContent: Sendable, Equatable {
  /// How many sizes of pieces are kept.
  private static let maximumPieces = 4096

  /// What is kept of it.
  private(set) var data = Data()
  /// How long it is.
  private(set) var size: Int64 = 0
  /// The sizes of the pieces in which it came; what they leave over is one more.
  private(set) var pieces: [Int] = []

  var isTruncated: Bool { size > data.count }

  mutating func append(_ chunk: Data, limit: Int) {
    size += Int64(chunk.count)
    let kept = chunk.prefix(max(0, limit - data.count))
    guard !kept.isEmpty else { return }
    // A copy: the chunk may hold a much larger block of the connection's.
    data.append(contentsOf: kept)
    if pieces.count < Self.maximumPieces { pieces.append(kept.count) }
  }
}
