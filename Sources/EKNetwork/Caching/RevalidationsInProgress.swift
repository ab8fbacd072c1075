/// Lets one at a time renew what is stored under a key.
struct RevalidationsInProgress: Sendable {
  private let underWay = Locked<Set<String>>([])

  /// Whether the caller is the one to do it, and to call ``end(_:)`` when it is done.
  ///
  /// The one that is let in has to look at the cache once more: the one before may have ended, with a new entry, after the caller
  /// had looked.
  func begin(_ key: String) -> Bool { underWay.withLock { $0.insert(key).inserted } }

  func end(_ key: String) { underWay.withLock { _ = $0.remove(key) } }
}
