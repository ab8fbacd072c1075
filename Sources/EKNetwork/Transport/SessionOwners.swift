import Foundation

/// Names for sessions that may tell users apart by code, which cannot be seen from outside: a delegate that answers
/// challenges, a session of the user's own making.
///
/// A name is made for one session and never again, not even by another process: what is stored under it belongs to that
/// session alone.
enum SessionOwners {
  private struct Entry {
    weak var session: AnyObject?
    let name: String
  }

  // Shared, because a session has no room for a name. The entries of sessions that are gone leave with the next new one.
  private static let entries = Locked<[ObjectIdentifier: Entry]>([:])

  static func name(of session: AnyObject) -> String {
    let key = ObjectIdentifier(session)
    return entries.withLock { entries in
      if let entry = entries[key], entry.session === session { return entry.name }
      entries = entries.filter { $0.value.session != nil }
      let name = UUID().uuidString
      entries[key] = Entry(session: session, name: name)
      return name
    }
  }
}
