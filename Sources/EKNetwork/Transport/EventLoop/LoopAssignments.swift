/// The assignment of destinations to event loops: a new destination gets the loop with the fewest, and keeps it,
/// because that loop has its connections and their limit.
struct LoopAssignments<Destination: Hashable & Sendable>: Sendable {
  /// Beyond this number the hash decides, which does not change either.
  private static var maximumRemembered: Int { 1_000 }

  private var indices: [Destination: Int] = [:]
  private var counts: [Int]

  /// - Parameter loops: The number of loops; at least one.
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
