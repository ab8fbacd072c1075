import Foundation

/// A record of the requests received, in order.
struct RecordBook: Sendable {
  private(set) var requests: [LoopbackServer.Request] = []
  /// The number of requests received, including those not kept.
  private(set) var count = 0
  private var countByPath: [String: Int] = [:]
  private var bodyBytes = 0
  private let limit: Int
  private let bodyLimit: Int

  init(limit: Int, bodyLimit: Int) {
    self.limit = limit
    self.bodyLimit = bodyLimit
  }

  mutating func add(_ request: LoopbackServer.Request) {
    count += 1
    guard requests.count < limit else { return }
    var request = request
    if request.rawBody.count <= bodyLimit - bodyBytes {
      bodyBytes += request.rawBody.count
    } else {
      request.body = Data()
      request.rawBody = Data()
    }
    requests.append(request)
    countByPath[request.path, default: 0] += 1
  }

  /// Returns the number of requests received, or of those kept for one path.
  func count(path: String?) -> Int {
    path.map { countByPath[$0] ?? 0 } ?? count
  }

  func requests(path: String?) -> [LoopbackServer.Request] {
    path.map { path in requests.filter { $0.path == path } } ?? requests
  }

  mutating func clear() { self = RecordBook(limit: limit, bodyLimit: bodyLimit) }
}
