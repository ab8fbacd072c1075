/// The division of the connections to one origin among event loops: the first loop is the origin's own, and the others
/// help when it has as many requests in progress as its share.
///
/// Each loop keeps its connections to itself, including idle ones. With fixed shares, all loops together never have
/// more than the session allows.
struct ConnectionLanes {
  /// With fewer connections a loop does less in each turn, and a request costs more than it would on a single loop.
  private static let smallestShare = 32

  private let connections: Int
  private let count: Int
  private var own = 0
  /// The counts of the loops that help; empty until there is one.
  private var others: [Int] = []

  /// - Parameters:
  ///   - connections: The maximum number of connections.
  ///   - loops: The number of loops.
  init(connections: Int, loops: Int) {
    self.connections = connections
    count = max(1, min(loops, connections / Self.smallestShare))
  }

  /// Returns the loop for one more request, counted from the origin's own.
  mutating func take() -> Int {
    guard count > 1, own >= share(of: 0) else {
      own += 1
      return 0
    }
    if others.isEmpty { others = Array(repeating: 0, count: count - 1) }
    let free = others.indices.filter { others[$0] < share(of: $0 + 1) }.min { others[$0] < others[$1] }
    guard let free else {
      own += 1
      return 0
    }
    others[free] += 1
    return free + 1
  }

  /// Notes that a request of this loop is over.
  mutating func release(_ lane: Int) {
    if lane == 0 { own -= 1 } else { others[lane - 1] -= 1 }
  }

  private func share(of lane: Int) -> Int { connections / count + (lane < connections % count ? 1 : 0) }
}
