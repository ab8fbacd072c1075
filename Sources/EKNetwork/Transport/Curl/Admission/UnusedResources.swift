/// Frees what has not been used for a while: it holds what is not in use, by the time at which its end has come.
///
/// A resource that is used again and again stays at its first place, and is only looked at when that time has come: use
/// costs nothing, and there is no polling.
struct UnusedResources<Resource: Disposable> {
  /// How long a resource is kept without being used, in nanoseconds.
  let lifetime: UInt64
  private var heap = DeadlineHeap<Resource>()

  init(lifetime: UInt64) { self.lifetime = lifetime }

  /// When ``next(notAfter:)`` is to be asked again; `nil` for never.
  var deadline: UInt64? { heap.first }

  /// One more uses the resource.
  func begin(_ resource: Resource) { resource.users += 1 }

  /// One fewer uses the resource.
  mutating func end(_ resource: Resource, at now: UInt64) {
    resource.users -= 1
    guard resource.users == 0 else { return }
    resource.unusedSince = now
    if resource.deadlineIndex < 0 { heap.insert(resource, at: now.addingClamped(lifetime)) }
  }

  /// Gives up a resource whose time has come.
  mutating func next(notAfter now: UInt64) -> Resource? {
    while let resource = heap.popFirst(notAfter: now) {
      // Its next end of use puts it back.
      guard resource.users == 0 else { continue }
      let deadline = resource.unusedSince.addingClamped(lifetime)
      guard deadline > now else { return resource }
      heap.insert(resource, at: deadline)
    }
    return nil
  }
}

/// What ``UnusedResources`` frees.
protocol Disposable: DeadlineHeapElement {
  /// How many use it.
  var users: Int { get set }
  /// When the last use has ended, in nanoseconds.
  var unusedSince: UInt64 { get set }
}
