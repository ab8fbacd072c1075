/// One flush of a queue, which the tasks that it runs in know it by.
final class OfflineFlush: Sendable {
  let queue: ObjectIdentifier
  private let over = Locked(false)

  init(of queue: PrismOfflineQueue) { self.queue = ObjectIdentifier(queue) }

  var isOver: Bool { over.withLock { $0 } }

  func end() { over.withLock { $0 = true } }
}
