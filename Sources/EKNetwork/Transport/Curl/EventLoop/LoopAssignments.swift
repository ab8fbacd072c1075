/// Which event loop serves which destination: the one with the fewest, and from then on the same one, because there are its
/// connections and their limit.
struct LoopAssignments<Destination: Hashable & Sendable>: Sendable {
  /// Beyond it the hash decides, which never changes either.
  private static var maximumRemembered: Int { 1_000 }

  private var indices: [Destination: Int] = [:]
  private var counts: [Int]

  /// - Parameter loops: How many there are; at least one.
  init(loops: Int) { counts = Array(repeating: 0, count: max(1, loops)) }

  mutating func index(of destination: Destination) -> Int {
    if let index = indices[destination] { return index }
    guard indices.count < Self.maximumRemembered else {
      return Int(UInt(bitPattern: destination.hashValue) % UInt(counts.count))
    }
    let index = counts.indices.min { counts[$0] < counts[$1] } ?? 0
    counts[index] += 1
    indices[destination] = index
    return index
  }
}
