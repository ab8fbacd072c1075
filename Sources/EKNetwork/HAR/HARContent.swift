import Foundation

/// The recorded body of a response, which grows while it is read.
struct HARContent: Sendable, Equatable {
  /// The maximum number of chunk sizes that are kept.
  private static let maximumPieces = 4096

  /// The recorded bytes.
  private(set) var data = Data()
  /// The size of the whole body in bytes.
  private(set) var size: Int64 = 0
  /// The sizes of the chunks in which it arrived; the bytes after them are one more chunk.
  private(set) var pieces: [Int] = []

  var isTruncated: Bool { size > data.count }

  mutating func append(_ chunk: Data, limit: Int) {
    size += Int64(chunk.count)
    let kept = chunk.prefix(max(0, limit - data.count))
    guard !kept.isEmpty else { return }
    // A copy: the chunk may keep a much larger buffer of the connection alive.
    data.append(contentsOf: kept)
    if pieces.count < Self.maximumPieces { pieces.append(kept.count) }
  }
}
