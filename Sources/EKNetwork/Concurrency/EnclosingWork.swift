/// Work that would wait for itself. The tasks that it runs in know it by this object, and may outlive it.
final class EnclosingWork<Name: Hashable & Sendable>: Sendable {
  let name: Name
  private let over = Locked(false)

  init(_ name: Name) { self.name = name }

  var isOver: Bool { over.withLock { $0 } }

  func end() { over.withLock { $0 = true } }
}
