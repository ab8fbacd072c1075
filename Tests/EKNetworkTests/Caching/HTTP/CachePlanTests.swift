import Foundation
import Testing

@testable import EKNetwork

struct CachePlanTests {
  static let now = Date(timeIntervalSince1970: 1_800_000_000)
  static let nobody = RequestIdentity.anonymous

  static func stored(
    _ control: String, age: Double, tag: String? = "\"a\"", status: Int = 200, identity: RequestIdentity = nobody
  ) -> StoredResponse {
    var fields = HeaderFieldList([(name: "Cache-Control", value: control)])
    if let tag { fields.append("ETag", tag) }
    let time = now.addingTimeInterval(-age)
    return StoredResponse(
      status: status, reason: "", fields: fields, requestTime: time, responseTime: time,
      varying: VaryingFields(response: fields, request: HeaderFieldList()), identity: identity)
  }

  private func plan(
    _ control: String, age: Double, tag: String? = "\"a\"", mode: CacheMode = .default, request: String? = nil
  ) -> CachePlan {
    CachePlan(
      mode: mode, request: CacheDirectives(request), stored: Self.stored(control, age: age, tag: tag), now: Self.now)
  }

  @Test func nothingStored() {
    func plan(_ mode: CacheMode, _ request: String? = nil, isVaryMiss: Bool = false) -> CachePlan {
      CachePlan(
        mode: mode, request: CacheDirectives(request), stored: nil, isVaryMiss: isVaryMiss, now: Self.now)
    }
    #expect(plan(.default) == .forward(.uriMiss))
    #expect(plan(.forceCache, isVaryMiss: true) == .forward(.varyMiss))
    #expect(plan(.reload, "only-if-cached") == .forward(.uriMiss))
  }

  @Test func freshIsUsedAndStaleIsValidated() {
    #expect(plan("max-age=60", age: 59) == .use)
    #expect(plan("max-age=60", age: 60) == .validate(.stale))
    #expect(plan("max-age=60", age: 60, tag: nil) == .forward(.stale))
    #expect(plan("max-age=60, no-cache", age: 1) == .validate(.stale))
  }

  @Test func requestMayTightenFreshness() {
    #expect(plan("max-age=60", age: 10, request: "no-cache") == .validate(.request))
    #expect(plan("max-age=60", age: 10, request: "max-age=9") == .validate(.request))
    #expect(plan("max-age=60", age: 10, request: "max-age=10") == .use)
    #expect(plan("max-age=60", age: 10, request: "max-age=x") == .validate(.request))
    #expect(plan("max-age=60", age: 10, request: "min-fresh=50") == .use)
    #expect(plan("max-age=60", age: 10, request: "min-fresh=51") == .validate(.request))
  }

  @Test func requestMayRelaxFreshness() {
    #expect(plan("max-age=60", age: 70, request: "max-stale") == .use)
    #expect(plan("max-age=60", age: 70, request: "max-stale=10") == .use)
    #expect(plan("max-age=60", age: 71, request: "max-stale=10") == .validate(.stale))
    #expect(plan("max-age=60, must-revalidate", age: 70, request: "max-stale") == .validate(.stale))
    #expect(plan("no-cache, max-age=60", age: 10, request: "max-stale") == .validate(.stale))
  }

  @Test func staleWhileRevalidateHasAWindow() {
    #expect(plan("max-age=60, stale-while-revalidate=10", age: 70) == .useAndRevalidate)
    #expect(plan("max-age=60, stale-while-revalidate=10", age: 71) == .validate(.stale))
    #expect(plan("max-age=60, stale-while-revalidate=10, must-revalidate", age: 70) == .validate(.stale))
    #expect(plan("max-age=60, stale-while-revalidate=10", age: 70, request: "max-age=0") == .validate(.stale))
    #expect(plan("max-age=60, stale-while-revalidate=10", age: 70, request: "only-if-cached") == .use)
  }

  @Test func modes() {
    #expect(plan("max-age=60", age: 1, mode: .noStore) == .forward(.bypass))
    #expect(plan("max-age=60", age: 1, mode: .reload) == .forward(.request))
    #expect(plan("max-age=60", age: 1, mode: .noCache) == .validate(.request))
    #expect(plan("max-age=60, immutable", age: 1, mode: .noCache) == .use)
    #expect(plan("max-age=60, immutable", age: 61, mode: .noCache) == .validate(.stale))
    #expect(plan("max-age=60, must-revalidate", age: 900, mode: .forceCache) == .use)
    #expect(plan("max-age=60", age: 900, mode: .onlyIfCached) == .use)
  }

  @Test func staleResponseMayReplaceError() {
    func may(_ control: String, age: Double, request: String? = nil) -> Bool {
      Self.stored(control, age: age).mayReplaceError(at: Self.now, request: CacheDirectives(request))
    }
    #expect(may("max-age=60, stale-if-error=10", age: 70))
    #expect(!may("max-age=60, stale-if-error=10", age: 71))
    #expect(!may("max-age=60", age: 61))
    #expect(may("max-age=60", age: 61, request: "stale-if-error=5"))
    #expect(!may("max-age=60, stale-if-error=10, must-revalidate", age: 61))
    #expect(!may("max-age=60, stale-if-error=10, no-cache", age: 1))
    #expect(!may("max-age=60, stale-if-error=10", age: 1, request: "no-cache"))
    #expect(may("max-age=60, stale-if-error=10", age: 65, request: "no-cache, stale-if-error=5"))
    #expect(!may("max-age=60, stale-if-error=10", age: 66, request: "no-cache, stale-if-error=5"))
  }
}
