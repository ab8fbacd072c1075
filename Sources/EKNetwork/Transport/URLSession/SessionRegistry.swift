import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is kept for each session as long as the session lives.
///
/// Shared, because a session of one's own for each request would cost its connection each time, and a `URLSession` has
/// no room for one. The entry of a session that is gone leaves with its last transport; where the user has kept the
/// session for longer than that, with the next new session.
struct SessionRegistry<Variant: Hashable & Sendable, Host: AnyObject & Sendable>: Sendable {
  private struct Key: Hashable {
    let session: ObjectIdentifier
    let variant: Variant
  }

  private struct Entry {
    weak var source: URLSession?
    let host: Host
  }

  private let entries = Locked<[Key: Entry]>([:])

  /// The host of a session, made when it is first needed.
  func host(for source: URLSession, _ variant: Variant, make: () -> Host) -> Host {
    let key = Key(session: ObjectIdentifier(source), variant: variant)
    let known = entries.withLock { entries in
      entries[key].flatMap { $0.source === source ? $0.host : nil }
    }
    if let known { return known }
    let made = make()
    let (host, dropped) = entries.withLock { entries in
      if let entry = entries[key], entry.source === source { return (entry.host, [Entry]()) }
      let dropped = entries.filter { $0.value.source == nil }
      for key in dropped.keys { entries[key] = nil }
      let replaced = entries.updateValue(Entry(source: source, host: made), forKey: key)
      return (made, Array(dropped.values) + (replaced.map { [$0] } ?? []))
    }
    // Out here: the end of a host calls Foundation.
    withExtendedLifetime(dropped) {}
    return host
  }

  /// A session has been released. If it is gone, what was kept for it goes, too.
  func sessionMayBeGone(_ session: ObjectIdentifier) {
    let dropped = entries.withLock { entries in
      let gone = entries.filter { $0.key.session == session && $0.value.source == nil }
      for key in gone.keys { entries[key] = nil }
      return Array(gone.values)
    }
    withExtendedLifetime(dropped) {}
  }
}
