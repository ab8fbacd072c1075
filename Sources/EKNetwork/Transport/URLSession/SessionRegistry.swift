import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The hosts of sessions, each of which is kept as long as its session lives.
///
/// Shared, because a host for each request would cost a new connection each time, and a `URLSession` cannot store one.
/// The entry of a released session is removed with its last transport or, if the user has kept the session for longer
/// than that, when the next host is added.
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

  /// Returns the host of a session, which is created on first use.
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
    // Released outside the lock: deinitialising a host calls into Foundation.
    withExtendedLifetime(dropped) {}
    return host
  }

  /// Removes the hosts of a session if the session is gone. Called when a reference to it has been released.
  func sessionMayBeGone(_ session: ObjectIdentifier) {
    let dropped = entries.withLock { entries in
      let gone = entries.filter { $0.key.session == session && $0.value.source == nil }
      for key in gone.keys { entries[key] = nil }
      return Array(gone.values)
    }
    withExtendedLifetime(dropped) {}
  }
}
