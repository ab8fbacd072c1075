@testable import EKNetwork

/// What ``RequestQueue`` does for origins without TLS, as simply as possible: a list in the order of submission,
/// searched from its start for the first one that has room.
struct ReferenceQueue {
  struct Item: Equatable {
    var number: Int
    var key: RequestQueue<Int>.Key
    var limit: Int
    var hasBegun = false
    /// Resent ones go first, in the order in which they were resent.
    var resent: Int?
  }

  private(set) var items: [Item] = []
  private var resends = 0

  func active(_ key: RequestQueue<Int>.Key) -> Int { items.count { $0.key == key && $0.hasBegun } }

  mutating func submit(_ item: Item) { items.append(item) }

  mutating func remove(_ number: Int) { items.removeAll { $0.number == number } }

  mutating func resend(_ number: Int) {
    guard let index = items.firstIndex(where: { $0.number == number && $0.hasBegun }) else { return }
    resends += 1
    items[index].hasBegun = false
    items[index].resent = resends
  }

  /// The numbers that start, by key and in order.
  mutating func admit() -> [RequestQueue<Int>.Key: [Int]] {
    var begun: [RequestQueue<Int>.Key: [Int]] = [:]
    for key in Set(items.map(\.key)) {
      while true {
        let waiting = items.indices.filter { items[$0].key == key && !items[$0].hasBegun }
        let resent = waiting.filter { items[$0].resent != nil }.min {
          (items[$0].resent ?? 0) < (items[$1].resent ?? 0)
        }
        guard let first = resent ?? waiting.first, active(key) < items[first].limit else { break }
        items[first].hasBegun = true
        begun[key, default: []].append(items[first].number)
      }
    }
    return begun
  }
}
