import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct CookieJarStateTests {
  private static let now = Date(timeIntervalSinceReferenceDate: 800_000_000)

  private func cookie(_ name: String, domain: String = "example.com", life: Double? = nil, secure: Bool = false)
    -> StoredCookie
  {
    StoredCookie(
      name: name, value: "1", domain: domain, path: "/", expires: life.map { Self.now + $0 },
      created: Double(name.filter(\.isNumber)) ?? 0, isSecure: secure, isHTTPOnly: false)
  }

  private func names(_ state: CookieJarState, _ host: String = "example.com") -> Set<String> {
    Set(state.matching(host).map(\.name))
  }

  /// Performs what is to be written on `storage`, and returns it.
  @discardableResult
  private func write(_ state: inout CookieJarState, to storage: inout [String: CookieJarState.Known]) -> [String] {
    var written: [String] = []
    guard state.beginsWriting() else { return [] }
    while let next = state.nextWrite() {
      switch next {
      case .set(let cookie):
        written.append("+" + cookie.name)
        storage[cookie.key] = cookie.foundationCookie.map { .init(object: $0, cookie: cookie) }
        state.wrote(cookie.key, storage[cookie.key])
      case .delete(let object, let key):
        written.append("-" + object.name)
        storage[key] = nil
        state.wrote(key, nil)
      }
    }
    return written.sorted()
  }

  private func accept(
    _ storage: [String: CookieJarState.Known], _ state: inout CookieJarState, writes: Int? = nil, after: Double = 0
  ) {
    state.accept(
      .init(writes: writes ?? state.writes, objects: storage.values.map(\.object), known: storage),
      now: Self.now + after
    )
  }

  @Test func evictedCookiesAreNotWritten() {
    var state = CookieJarState()
    for number in 0..<400 { state.set(cookie("n\(number)"), isSecureOrigin: true, now: Self.now) }
    state.set(cookie("keep0", secure: true), isSecureOrigin: true, now: Self.now)
    state.evict(now: Self.now)
    var storage: [String: CookieJarState.Known] = [:]
    let written = write(&state, to: &storage)
    #expect(written.count == CookieJarState.mostOfADomain)
    #expect(written.contains("+keep0") && written.contains("+n399") && !written.contains("+n0"))
    // One that was written is deleted.
    state.set(cookie("n500"), isSecureOrigin: true, now: Self.now)
    state.evict(now: Self.now)
    #expect(write(&state, to: &storage) == ["+n500", "-n221"])
  }

  @Test func totalIsLimited() {
    var state = CookieJarState()
    for number in 0...CookieJarState.mostOfAll {
      state.set(cookie("n\(number)", domain: "d\(number / 100).com"), isSecureOrigin: true, now: Self.now)
    }
    state.evict(now: Self.now)
    #expect(state.matching("d0.com").count == 99 && !names(state, "d0.com").contains("n0"))
    #expect(state.matching("d30.com").count == 1)
  }

  /// A session that is sent with each request outlives the cookies that are set for single pages, and are not.
  @Test(arguments: [CookieJarState.mostOfADomain, CookieJarState.mostOfAll])
  func leastRecentlyUsedIsEvictedFirst(_ limit: Int) {
    var state = CookieJarState()
    func domain(_ number: Int) -> String {
      limit == CookieJarState.mostOfAll ? "d\(number / 100).com" : "example.com"
    }
    let session = cookie("session")
    state.set(session, isSecureOrigin: true, now: Self.now)
    for number in 1...limit + 1 {
      // Secure cookies are spared only among those of their domain.
      let isSecure = limit == CookieJarState.mostOfAll
      state.set(
        cookie("n\(number)", domain: domain(number), secure: isSecure), isSecureOrigin: true, now: Self.now)
      state.noteUse(of: [session])
    }
    state.evict(now: Self.now)
    #expect(names(state).contains("session"))
    #expect(!names(state, domain(1)).contains("n1") && !names(state, domain(1)).contains("n2"))
    #expect(names(state, domain(3)).contains("n3"))
  }

  /// What the program itself puts into the storage is used then.
  @Test func cookiesOfTheStorageAreNotEvictedFirst() {
    var state = CookieJarState()
    for number in 1...CookieJarState.mostOfADomain {
      state.set(cookie("n\(number)"), isSecureOrigin: true, now: Self.now)
    }
    var storage: [String: CookieJarState.Known] = [:]
    write(&state, to: &storage)
    let login = cookie("login")
    storage[login.key] = login.foundationCookie.map { .init(object: $0, cookie: login) }
    accept(storage, &state)
    state.evict(now: Self.now)
    #expect(names(state).contains("login") && !names(state).contains("n1"))
  }

  @Test func contentsFromBeforeAWriteAreIgnored() {
    var state = CookieJarState()
    var storage: [String: CookieJarState.Known] = [:]
    let before = state.writes
    state.set(cookie("a"), isSecureOrigin: true, now: Self.now)
    write(&state, to: &storage)
    accept([:], &state, writes: before)
    #expect(names(state) == ["a"])
    accept([:], &state)
    #expect(names(state).isEmpty && !state.beginsWriting())
  }

  /// A server that extends a life with every response does not have the file of a storage written with each.
  @Test(arguments: [(100, []), (111, []), (112, ["+a"]), (99, ["+a"])] as [(Double, [String])])
  func lifeThatIsLittleLongerIsNotWritten(_ life: Double, _ written: [String]) {
    var state = CookieJarState()
    var storage: [String: CookieJarState.Known] = [:]
    state.set(cookie("a", life: 100), isSecureOrigin: true, now: Self.now)
    write(&state, to: &storage)
    state.set(cookie("a", life: life), isSecureOrigin: true, now: Self.now)
    #expect(write(&state, to: &storage) == written)
  }

  @Test func whatTheStorageDropsBecauseItHasExpiredIsNoRemoval() {
    var state = CookieJarState()
    var storage: [String: CookieJarState.Known] = [:]
    state.set(cookie("a", life: 100), isSecureOrigin: true, now: Self.now)
    write(&state, to: &storage)
    state.set(cookie("a", life: 109), isSecureOrigin: true, now: Self.now)
    #expect(write(&state, to: &storage) == [])
    accept([:], &state, after: 105)
    storage = [:]
    #expect(names(state) == ["a"])
    #expect(write(&state, to: &storage) == ["+a"])
    accept([:], &state, after: 110)
    #expect(names(state).isEmpty)
  }

  @Test(arguments: [
    ("www.example.com", ["host": false, "parent": true, "other": false]),
    ("example.com", ["host": false, "parent": true, "other": false]),
    ("a.host.com", ["host": false, "parent": false, "other": false]),
    ("host.com", ["host": true, "parent": false, "other": false]),
    ("1.2.3.4", ["address": true, "suffix": false]), ("9.1.2.3.4", ["address": false]),
    ("0x7f.0.0.1", ["suffix": false]),
  ])
  func domainsMatch(_ host: String, _ expected: [String: Bool]) {
    var state = CookieJarState()
    for (name, domain) in [
      ("host", "host.com"), ("parent", ".example.com"), ("other", "ample.com"), ("address", "1.2.3.4"),
      ("suffix", ".0.1"), ("suffix2", ".3.4"),
    ] {
      state.set(cookie(name, domain: domain), isSecureOrigin: true, now: Self.now)
    }
    for (name, isSent) in expected { #expect(names(state, host).contains(name) == isSent, "\(name)") }
  }
}
