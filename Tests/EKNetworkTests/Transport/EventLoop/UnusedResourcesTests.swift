import Testing

@testable import EKNetwork

@Suite struct UnusedResourcesTests {
  private final class Resource: Disposable {
    var users = 0
    var unusedSince: UInt64 = 0
    var deadlineIndex = -1
  }

  @Test func unusedResourceExpiresAfterItsLifetime() {
    var unused = UnusedResources<Resource>(lifetime: 100)
    let resource = Resource()
    #expect(unused.deadline == nil)
    unused.begin(resource)
    #expect(unused.deadline == nil)
    unused.end(resource, at: 50)
    #expect(unused.deadline == 150)
    #expect(unused.next(notAfter: 149) == nil)
    #expect(unused.next(notAfter: 150) === resource)
    #expect(unused.next(notAfter: .max) == nil)
    #expect(unused.deadline == nil)
  }

  @Test func useExtendsTheLifetime() {
    var unused = UnusedResources<Resource>(lifetime: 100)
    let resource = Resource()
    for now: UInt64 in [0, 30, 90] {
      unused.begin(resource)
      unused.end(resource, at: now)
    }
    // It is checked once too early, and no more often.
    #expect(unused.deadline == 100)
    #expect(unused.next(notAfter: 100) == nil)
    #expect(unused.deadline == 190)
    #expect(unused.next(notAfter: 190) === resource)
  }

  @Test func resourceInUseNeverExpires() {
    var unused = UnusedResources<Resource>(lifetime: 100)
    let resource = Resource()
    unused.begin(resource)
    unused.end(resource, at: 0)
    unused.begin(resource)
    unused.begin(resource)
    #expect(unused.next(notAfter: 1_000) == nil)
    #expect(unused.deadline == nil)
    unused.end(resource, at: 1_000)
    #expect(unused.deadline == nil)
    unused.end(resource, at: 2_000)
    #expect(unused.deadline == 2_100)
    #expect(unused.next(notAfter: 2_100) === resource)
  }

  @Test func eachResourceHasItsOwnDeadline() {
    var unused = UnusedResources<Resource>(lifetime: 100)
    let resources = (0..<50).map { _ in Resource() }
    for (index, resource) in resources.enumerated().shuffled() {
      unused.begin(resource)
      unused.end(resource, at: UInt64(index))
    }
    for index in 0..<50 {
      #expect(unused.next(notAfter: UInt64(index) + 99) == nil)
      #expect(unused.next(notAfter: UInt64(index) + 100) === resources[index])
    }
  }
}
