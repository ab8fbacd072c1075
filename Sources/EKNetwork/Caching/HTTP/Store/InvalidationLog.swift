/// When what is stored for a URL was last made invalid, or removed by its owner: a response that was asked for before
/// that is what was to be got rid of, and must not be stored behind it.
struct InvalidationLog: Sendable {
  /// So many URLs are remembered; of the others it is then assumed that they were just made invalid.
  private static let memory = 1024

  private var count = 0
  private var latest: [String: Int] = [:]
  private var latestOfOthers = 0

  /// A number that is another one after each time.
  func epoch(of url: String) -> Int { latest[url] ?? latestOfOthers }

  mutating func note(_ url: String) {
    if latest.count >= Self.memory { noteAll() }
    count += 1
    latest[url] = count
  }

  mutating func noteAll() {
    count += 1
    latest = [:]
    latestOfOthers = count
  }
}
