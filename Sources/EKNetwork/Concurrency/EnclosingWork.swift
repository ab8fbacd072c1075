/// A marker of running work, which lets the work detect that it would wait for itself. The tasks of the work hold it,
/// and may outlive the work.
final class EnclosingWork<Name: Hashable & Sendable>: Sendable {
  let name: Name
  private let over = Locked(false)

  init(_ name: Name) { self.name = name }

  var isOver: Bool { over.withLock { $0 } }

  func end() { over.withLock { $0 = true } }
}
