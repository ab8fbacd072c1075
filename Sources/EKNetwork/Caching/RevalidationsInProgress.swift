/// The keys whose stored responses are being revalidated, each by one task at a time.
struct RevalidationsInProgress: Sendable {
  private let underWay = Locked<Set<String>>([])

  /// Returns whether the caller is to revalidate, and to call ``end(_:)`` afterwards.
  ///
  /// The caller must look the response up again: a previous revalidation may have stored a new one after the caller's
  /// lookup.
  func begin(_ key: String) -> Bool { underWay.withLock { $0.insert(key).inserted } }

  func end(_ key: String) { underWay.withLock { _ = $0.remove(key) } }
}
