import Foundation

/// The requests received, in order.
struct RecordBook: Sendable {
  private(set) var requests: [LoopbackServer.Request] = []
  /// How many were received, also when they were not kept.
  private(set) var count = 0
  private var countByPath: [String: Int] = [:]
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  mutating func add(_ request: LoopbackServer.Request) {
    count += 1
    guard requests.count < limit else { return }
    requests.append(request)
    countByPath[request.path, default: 0] += 1
  }

  /// How many requests were received, or are kept of one path.
  func count(path: String?) -> Int {
    path.map { countByPath[$0] ?? 0 } ?? count
  }

  func requests(path: String?) -> [LoopbackServer.Request] {
    path.map { path in requests.filter { $0.path == path } } ?? requests
  }

  mutating func clear() { self = RecordBook(limit: limit) }
}
