import Dispatch
import Foundation

/// The cookies of an `HTTPCookieStorage`, in memory. All sessions with the same storage share one jar.
///
/// On Linux a storage with a file writes all of it again for every cookie that is set or deleted, while its lock is
/// held: milliseconds each, which add up. So the jar is read and changed in memory alone, and the storage is written
/// behind it, on a queue of its own, for which nobody waits. A storage without a file is written at once.
final class CookieJar: Sendable {
  private let storage: HTTPCookieStorage
  private let state = Locked(CookieJarState())
  /// The queue on which the storage is written; `nil` for one without a file.
  let queue: BlockingQueue?

  static func of(_ storage: HTTPCookieStorage) -> CookieJar {
    let key = ObjectIdentifier(storage)
    // A jar retains its storage, so no other storage has its address.
    if let jar = jars.withLock({ $0[key].flatMap { $0.jar } }) { return jar }
    let made = CookieJar(storage)
    return jars.withLock { jars in
      if let jar = jars[key].flatMap({ $0.jar }) { return jar }
      jars[key] = Entry(made)
      return made
    }
  }

  private struct Entry {
    weak var jar: CookieJar?
    let identifier: ObjectIdentifier

    init(_ jar: CookieJar) {
      self.jar = jar
      identifier = ObjectIdentifier(jar)
    }
  }

  private static let jars = Locked<[ObjectIdentifier: Entry]>([:])

  private init(_ storage: HTTPCookieStorage) {
    self.storage = storage
    queue = Self.hasFile(storage) ? BlockingQueue(label: "EKNetwork.Cookies") : nil
    #if !canImport(Darwin)
      queue?.start { CookieFolder.protect() }
    #endif
  }

  deinit {
    let (key, own) = (ObjectIdentifier(storage), ObjectIdentifier(self))
    Self.jars.withLock { jars in
      if jars[key]?.identifier == own { jars[key] = nil }
    }
  }

  private static func hasFile(_ storage: HTTPCookieStorage) -> Bool {
    #if canImport(Darwin)
      // The system's storage is written by a process of its own.
      return false
    #else
      // The only public sign of a storage in memory.
      return !storage.description.hasPrefix("Ephemeral")
    #endif
  }

  /// Whether there is any cookie, in the jar or in the storage, into which other code may have put one.
  var mayHaveCookies: Bool {
    #if canImport(Darwin)
      return true
    #else
      return !state.withLock { $0.isEmpty } || storage.cookies?.isEmpty == false
    #endif
  }

  /// Returns the cookies whose domain matches the URL's host.
  func cookies(for url: URL) -> [StoredCookie] {
    #if canImport(Darwin)
      return (storage.cookies(for: url) ?? []).map { StoredCookie($0) }
    #else
      let contents = contents()
      guard let host = url.host?.lowercased() else { return [] }
      let now = Date()
      let (found, begins) = state.withLock { state in
        if let contents { state.accept(contents, now: now) }
        return (state.matching(host), state.beginsWriting())
      }
      if begins { startWriting() }
      return found
    #endif
  }

  /// Notes that cookies are sent: those that are not are evicted before them.
  func noteUse(of sent: [StoredCookie]) { state.withLock { $0.noteUse(of: sent) } }

  /// Reads the storage, in which other code may have changed something; returns `nil` if nothing has changed, and while it
  /// is being written, which may take long.
  private func contents(whileWriting: Bool = false) -> CookieJarState.Contents? {
    guard
      let (writes, last) = state.withLock({ state in
        state.isWriting && !whileWriting ? nil : (state.writes, state.objects)
      })
    else { return nil }
    let objects = storage.cookies ?? []
    // Foundation returns the same objects in the same order until something changes.
    if let last, objects.count == last.count, zip(objects, last).allSatisfy({ $0 === $1 }) { return nil }
    let known = state.withLock { $0.known }
    var fresh = [String: CookieJarState.Known](minimumCapacity: objects.count)
    for object in objects {
      let key = object.domain.lowercased() + object.path + object.name
      if let old = known[key], old.object === object || old.object == object {
        fresh[key] = old
      } else {
        fresh[key] = CookieJarState.Known(object: object, cookie: StoredCookie(object))
      }
    }
    return CookieJarState.Contents(writes: writes, objects: objects, known: fresh)
  }

  /// Whether the storage's own policy lets cookies in that come from a host, for a document of another.
  func accepts(_ policy: HTTPCookie.AcceptPolicy, host: String, main: String?) -> Bool {
    let policies = [policy, storage.cookieAcceptPolicy]
    guard !policies.contains(.never) else { return false }
    guard policies.contains(.onlyFromMainDocumentDomain), let main else { return true }
    return main == host || main.hasSuffix("." + host) || host.hasSuffix("." + main)
  }

  /// Stores received cookies, in this order. The next request sees them; the storage is written behind it.
  func store(_ cookies: [StoredCookie], isSecureOrigin: Bool) {
    let contents = contents()
    let now = Date()
    let begins = state.withLock { state in
      if let contents { state.accept(contents, now: now) }
      for cookie in cookies { state.set(cookie, isSecureOrigin: isSecureOrigin, now: now) }
      state.evict(now: now)
      return state.beginsWriting()
    }
    if begins { startWriting() }
  }

  private func startWriting() {
    guard let queue else { return write() }
    Self.finishAtExit
    queue.start { self.write() }
  }

  private func write() {
    acceptForeignChanges()
    while let next = state.withLock({ $0.nextWrite() }) {
      switch next {
      case .set(let cookie):
        let object = cookie.foundationCookie
        if let object { storage.setCookie(object) }
        state.withLock { $0.wrote(cookie.key, object.map { .init(object: $0, cookie: cookie) }) }
      case .delete(let object, let key):
        storage.deleteCookie(object)
        state.withLock { $0.wrote(key, nil) }
      }
      guard queue != nil else { continue }
      #if !canImport(Darwin)
        CookieFolder.protect()
      #endif
      acceptForeignChanges()
    }
  }

  /// Takes over what other code has changed since the storage was last looked at, before the next write: it may be about the
  /// very cookie that is to be written. A storage without a file is written as soon as it has been looked at.
  private func acceptForeignChanges() {
    guard queue != nil, let contents = contents(whileWriting: true) else { return }
    let now = Date()
    state.withLock { $0.accept(contents, now: now) }
  }

  /// What was received before the program ends is written, if that does not take longer than a few seconds.
  private static let finishAtExit: Void = {
    atexit {
      let limit = DispatchTime.now() + .seconds(3)
      for jar in CookieJar.jars.withLock({ $0.values.compactMap { $0.jar } }) {
        _ = jar.queue?.waitUntilDone(limit)
      }
    }
  }()
}

#if !canImport(Darwin)
  /// The folder in which FoundationNetworking's storages have their files, `.cookies.` and a name.
  enum CookieFolder {
    static let prefix = ".cookies."

    static let path: String? = {
      guard let folder = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first else {
        return nil
      }
      let program = URL(fileURLWithPath: Bundle.main.bundlePath).deletingPathExtension().lastPathComponent
      return folder.appendingPathComponent(program).path
    }()

    /// Makes the files readable by their owner only: Foundation leaves that to the umask, and replaces them with each
    /// write. The folder as well, if nothing else is in it.
    static func protect() {
      guard let path, let folder = OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        let names = try? FileManager.default.contentsOfDirectory(atPath: path)
      else { return }
      if !names.isEmpty, names.allSatisfy({ $0.hasPrefix(prefix) }) { folder.hideFromOthers(0o700) }
      for name in names where name.hasPrefix(prefix) {
        OpenFile(name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)?.hideFromOthers(0o600)
      }
    }
  }

  extension OpenFile {
    fileprivate func hideFromOthers(_ mode: mode_t) {
      guard let status, status.st_uid == geteuid(), status.st_mode & 0o077 != 0 else { return }
      fchmod(descriptor, mode)
    }
  }
#endif

/// The cookies of a session, for the transports that manage them themselves (RFC 6265bis).
///
/// FoundationNetworking's storage is only used to store them: on its own it returns cookies regardless of their path,
/// their `Secure` attribute and their age.
struct SessionCookies: Sendable {
  private let jar: CookieJar?
  private let policy: HTTPCookie.AcceptPolicy
  private let appliesCookies: Bool
  private let rules: CookieRules

  init(configuration: URLSessionConfiguration, suffixes: PublicSuffixes = .system) {
    jar = configuration.httpCookieStorage.map(CookieJar.of)
    policy = configuration.httpCookieAcceptPolicy
    appliesCookies = configuration.httpShouldSetCookies
    rules = CookieRules(suffixes: suffixes)
  }

  /// Creates the cookies of a storage, all of which are sent and stored; with `nil` there are none.
  init(storage: HTTPCookieStorage?) {
    jar = storage.map(CookieJar.of)
    policy = .always
    appliesCookies = true
    rules = CookieRules(suffixes: .system)
  }

  /// Adds the `Cookie` field, unless the request already has one or has cookies disabled. Returns whether it added the
  /// field.
  ///
  /// - Parameter start: The URL that the request began with, if a redirect has led to this one.
  @discardableResult
  func apply(to request: inout HTTPRequest, start: URL? = nil) -> Bool {
    // Before anything is asked of the request: most programs have no cookies.
    guard appliesCookies, let jar, jar.mayHaveCookies else { return false }
    guard request.handlesCookies, request.value("cookie") == nil, let url = request.url.cookieURL else {
      return false
    }
    let stored = jar.cookies(for: url)
    guard !stored.isEmpty else { return false }
    let cookies = rules.sent(stored, to: url, method: request.method, start: start?.cookieURL)
    guard !cookies.isEmpty else { return false }
    jar.noteUse(of: cookies)
    request.set("Cookie", cookies.map(\.pair).joined(separator: "; "))
    return true
  }

  /// Stores the cookies of a response to `request`, which came from `url`. One line is the bytes of one `Set-Cookie`
  /// field.
  func store(setCookieLines lines: [[UInt8]], for url: URL, request: HTTPRequest? = nil) {
    guard !lines.isEmpty, let jar, request?.handlesCookies ?? true else { return }
    guard let url = url.cookieURL, let host = url.host?.lowercased(), !host.isEmpty else { return }
    guard jar.accepts(policy, host: host, main: request?.mainDocumentURL?.host?.lowercased()) else { return }
    // The cookies of one response are ordered: each is a microsecond later than the one before.
    var created = Date().timeIntervalSinceReferenceDate
    let cookies = lines.prefix(CookieJarState.mostOfADomain).compactMap { line -> StoredCookie? in
      created += 1e-6
      return SetCookieLine(bytes: line).flatMap { rules.cookie($0, from: url, host: host, created: created) }
    }
    guard !cookies.isEmpty else { return }
    jar.store(cookies, isSecureOrigin: url.scheme?.lowercased() == "https")
  }
}

extension URL {
  /// The URL whose cookies apply: a WebSocket handshake uses those of the corresponding `http` or `https` URL (RFC 6455
  /// §4.1). `nil` for a socket, which has no domain.
  fileprivate var cookieURL: URL? {
    guard socketPath == nil else { return nil }
    let scheme = scheme?.lowercased()
    guard scheme == "ws" || scheme == "wss" else { return self }
    var parts = URLComponents(url: self, resolvingAgainstBaseURL: true)
    parts?.scheme = scheme == "ws" ? "http" : "https"
    return parts?.url
  }
}
