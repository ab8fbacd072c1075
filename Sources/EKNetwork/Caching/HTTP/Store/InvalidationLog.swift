/// A log of when the responses for a URL were last invalidated or removed: a response that was requested before that is
/// outdated, and must not be stored afterwards.
struct InvalidationLog: Sendable {
  /// The maximum number of URLs remembered; all others are then treated as having just been invalidated.
  private static let memory = 1024

  private var count = 0
  private var latest: [String: Int] = [:]
  private var latestOfOthers = 0

  /// Returns a number that changes with each invalidation of a URL.
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
