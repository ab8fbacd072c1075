import Foundation

/// Names for sessions that may tell users apart by code, which cannot be inspected: a delegate that answers challenges,
/// or a user-defined session.
///
/// A name belongs to one session and is never used again, not even by another process, so whatever is stored under it
/// belongs to that session alone.
enum SessionOwners {
  private struct Entry {
    weak var session: AnyObject?
    let name: String
  }

  // Global, because a session cannot store a name. The entries of released sessions are removed when a new one is
  // added.
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
