/// A collection of unused resources, ordered by the time at which they expire.
///
/// A resource that is used repeatedly keeps its first position, and is only checked when that time has come: using it
/// costs nothing, and there is no polling.
struct UnusedResources<Resource: Disposable> {
  /// How long an unused resource is kept, in nanoseconds.
  let lifetime: UInt64
  private var heap = DeadlineHeap<Resource>()

  init(lifetime: UInt64) { self.lifetime = lifetime }

  /// When to call ``next(notAfter:)`` again; `nil` for never.
  var deadline: UInt64? { heap.first }

  /// Adds a user of the resource.
  func begin(_ resource: Resource) { resource.users += 1 }

  /// Removes a user of the resource.
  mutating func end(_ resource: Resource, at now: UInt64) {
    resource.users -= 1
    guard resource.users == 0 else { return }
    resource.unusedSince = now
    if resource.deadlineIndex < 0 { heap.insert(resource, at: now.addingClamped(lifetime)) }
  }

  /// Removes and returns a resource that has expired.
  mutating func next(notAfter now: UInt64) -> Resource? {
    while let resource = heap.popFirst(notAfter: now) {
      // It is inserted again at its next end of use.
      guard resource.users == 0 else { continue }
      let deadline = resource.unusedSince.addingClamped(lifetime)
      guard deadline > now else { return resource }
      heap.insert(resource, at: deadline)
    }
    return nil
  }
}

/// A resource that ``UnusedResources`` manages.
protocol Disposable: DeadlineHeapElement {
  /// The number of its users.
  var users: Int { get set }
  /// When its last use ended, in nanoseconds.
  var unusedSince: UInt64 { get set }
}
