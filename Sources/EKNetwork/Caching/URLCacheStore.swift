import Foundation

/// Stores responses in a `URLCache`, each under the request that it is a response to, together with its expiry.
///
/// A `URLCache` does not distinguish requests that differ in their header fields, nor, on Linux, in their query or
/// method. Each entry therefore records the key of its request. An entry that occupies the place of a newer one is
/// moved to a place of its own, under a path that no request uses.
struct URLCacheStore: ResponseStore {
  /// The key of an entry's expiry date, in seconds since 1970.
  static let expirationField = "prism.network.cache.expiration"
  private static let storedField = "prism.network.cache.stored"
  private static let keyField = "prism.network.cache.key"

  /// On Linux a `URLCache` crashes some time after an entry was overwritten. Two adapters may share a cache, so looking
  /// up and then storing is done under a lock. Foundation calls none of our code meanwhile.
  ///
  /// The state has the removals from every cache, by the cache's address and the key. A cache at the address of an
  /// earlier one is not affected by that one's: they have happened before any of its requests.
  private static let lock = Locked(InvalidationLog())

  private static let memoryCapacity = 8 * 1024 * 1024

  /// `nil` for one in memory, created on first use.
  private let givenCache: Locked<URLCache?>
  let now: @Sendable () -> Date

  init(_ cache: URLCache?, now: @escaping @Sendable () -> Date) {
    givenCache = Locked(cache)
    self.now = now
  }

  private var cache: URLCache {
    givenCache.withLock { cache in
      if let cache { return cache }
      // Under the lock, so that it happens once: all that Foundation does is create a directory.
      #if canImport(Darwin)
        // Without a directory it would share that of the app's own cache.
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID())")
        let own = URLCache(memoryCapacity: Self.memoryCapacity, diskCapacity: 0, directory: folder)
      #else
        let own = URLCache(memoryCapacity: Self.memoryCapacity, diskCapacity: 0)
      #endif
      cache = own
      return own
    }
  }

  func entry(for key: CacheKey) -> (entry: PrismCacheEntry, isFresh: Bool)? {
    let cache = cache
    return Self.lock.withLock { _ in
      for request in [key.request, Self.spareRequest(key.request, key.text)] {
        if let found = cache.cachedResponse(for: request), Self.matches(found, key), let entry = entry(found) {
          // An entry dated in the future was stored before the clock was set back: its age is unknown. One second
          // allows for rounding in conversions between epochs.
          let now = now()
          return (entry, entry.expiresAt > now && entry.cachedAt.timeIntervalSince(now) < 1)
        }
      }
      return nil
    }
  }

  var removalCount: Int { Self.lock.withLock { $0.count } }

  func store(_ entry: PrismCacheEntry, for key: CacheKey, since removalCount: Int) {
    guard let response = entry.urlResponse(for: key.request.url) else { return }
    let cache = cache
    let new = CachedURLResponse(
      response: response, data: entry.data,
      userInfo: [
        Self.expirationField: entry.expiresAt.timeIntervalSince1970,
        Self.storedField: entry.cachedAt.timeIntervalSince1970, Self.keyField: key.text,
      ], storagePolicy: .allowed)
    let all = Self.name(cache)
    let own = Self.name(cache, key)
    Self.lock.withLock { removals in
      guard max(removals.epoch(of: all), removals.epoch(of: own)) <= removalCount else { return }
      let displaced = cache.cachedResponse(for: key.request)
      cache.removeCachedResponse(for: key.request)
      cache.removeCachedResponse(for: Self.spareRequest(key.request, key.text))
      if let displaced, let other = displaced.userInfo?[Self.keyField] as? String, other != key.text {
        let spare = Self.spareRequest(key.request, other)
        cache.removeCachedResponse(for: spare)
        cache.storeCachedResponse(displaced, for: spare)
      }
      cache.storeCachedResponse(new, for: key.request)
    }
  }

  func discard(_ key: CacheKey) { remove(key, isRemoval: false) }

  /// Removes the response for a key. One to a request that is under way is not stored afterwards.
  ///
  /// - Parameter isRemoval: Whether it counts as a removal even if there is no response.
  func remove(_ key: CacheKey, isRemoval: Bool = true) {
    let cache = cache
    let name = Self.name(cache, key)
    Self.lock.withLock { removals in
      if isRemoval { removals.note(name) }
      for request in [key.request, Self.spareRequest(key.request, key.text)] {
        if let found = cache.cachedResponse(for: request), Self.matches(found, key) {
          removals.note(name)
          cache.removeCachedResponse(for: request)
        }
      }
    }
  }

  func removeAll() {
    let cache = cache
    let name = Self.name(cache)
    Self.lock.withLock { removals in
      removals.note(name)
      cache.removeAllCachedResponses()
    }
  }

  /// The name of a cache, or of a key in it, in the log of removals.
  private static func name(_ cache: URLCache, _ key: CacheKey? = nil) -> String {
    "\(UInt(bitPattern: ObjectIdentifier(cache)))" + (key.map { " " + $0.text } ?? "")
  }

  /// Returns whether an entry is a response to the key's request: one that other code stored, with an expiry but
  /// without a key, is a response to its own URL, unless it may depend on the user.
  private static func matches(_ found: CachedURLResponse, _ key: CacheKey) -> Bool {
    if let text = found.userInfo?[keyField] as? String { return text == key.text }
    return found.response.url?.absoluteString == key.request.url?.absoluteString
      && (key.request.httpMethod ?? "GET") == "GET"
      && !key.namesUser
  }

  private func entry(_ found: CachedURLResponse) -> PrismCacheEntry? {
    guard let expiration = Self.seconds(found.userInfo?[Self.expirationField]) else { return nil }
    let stored = Self.seconds(found.userInfo?[Self.storedField]) ?? now().timeIntervalSince1970
    let response = found.response as? HTTPURLResponse
    return PrismCacheEntry(
      data: found.data, statusCode: response?.statusCode ?? 200, headers: response?.headerDictionary ?? [:],
      cachedAt: Date(timeIntervalSince1970: stored), ttl: Duration(timeInterval: expiration - stored) ?? .zero)
  }

  private static func seconds(_ value: Any?) -> Double? {
    switch value {
    case let date as Date: date.timeIntervalSince1970
    case let number as Double: number
    case let number as NSNumber: number.doubleValue
    default: nil
    }
  }

  /// The request under which only the responses of one key are stored.
  private static func spareRequest(_ request: URLRequest, _ key: String) -> URLRequest {
    guard let url = request.url, var components = URLComponents(url: url, resolvingAgainstBaseURL: true) else {
      return request
    }
    components.percentEncodedQuery = nil
    // A double slash and a length that no sensible path has. On Linux file names are derived from it, so it has to be
    // short.
    components.percentEncodedPath = "//prism-cache/" + SHA256.hexadecimal(Array(key.utf8))
    return components.url.map { URLRequest(url: $0) } ?? request
  }
}

#if !canImport(Darwin)
  extension URLCache {
    /// Creates a cache with a directory that only this process and this instance use.
    ///
    /// Apple's platforms have this initialiser; Foundation on Linux requires a path as well, and makes all caches
    /// without one share a directory. The files on disk belong to this process and are removed later: pass a `diskPath`
    /// to keep them.
    ///
    /// - Parameters:
    ///   - memoryCapacity: The memory capacity, in bytes.
    ///   - diskCapacity: The disk capacity, in bytes.
    public convenience init(memoryCapacity: Int, diskCapacity: Int) {
      self.init(
        memoryCapacity: memoryCapacity, diskCapacity: diskCapacity, diskPath: CacheDirectories.make())
    }
  }

  /// The directories of this process's caches, within a parent directory that it holds locked.
  enum CacheDirectories {
    static let prefix = "EKNetwork-URLCache-"
    static let lockName = "lock"

    /// A parent directory and its lock, which the system releases when the process exits, however it does. Not the
    /// process's number: another container, with which the directory may be shared, has the same numbers.
    struct Parent: Sendable {
      let url: URL
      let lock: OpenFile?
    }

    private static let parent: Parent? = {
      let temporary = FileManager.default.temporaryDirectory
      removeThoseLeftBehind(in: temporary)
      return makeParent(in: temporary)
    }()

    static func make() -> String {
      (parent?.url ?? FileManager.default.temporaryDirectory).appendingPathComponent(UUID().uuidString).path
    }

    /// Responses may be private, and the temporary directory is shared by all users: `mkdtemp` creates a new directory,
    /// which cannot have existed before and which no other user can read.
    static func makeParent(in temporary: URL) -> Parent? {
      var path = temporary.appendingPathComponent(prefix + "\(getpid())-XXXXXX").path.utf8CString.map { $0 }
      guard mkdtemp(&path) != nil else { return nil }
      let url = URL(fileURLWithPath: String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self))
      // Locked before it has its name: a directory whose lock is free belongs to nobody.
      let name = url.appendingPathComponent(lockName).path
      guard let lock = OpenFile(name + ".new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC),
        flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0, rename(name + ".new", name) == 0
      else { return Parent(url: url, lock: nil) }
      return Parent(url: url, lock: lock)
    }

    /// Removes the directories of processes that have exited. Other users may have put anything into the temporary
    /// directory under these names: only what belongs to this user, and to nobody else, is touched, and never by path.
    static func removeThoseLeftBehind(in temporary: URL) {
      guard let folder = OpenFile(temporary.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) else { return }
      for name in folder.names where name.hasPrefix(prefix) {
        guard let own = OpenFile(name, in: folder, ownFolder), own.isPrivate(S_IFDIR, 0o700),
          let lock = OpenFile(lockName, in: own, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
          lock.isPrivate(S_IFREG, 0o600), flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0
        else { continue }
        removeContents(of: own, depth: 8)
        unlinkat(folder.descriptor, name, AT_REMOVEDIR)
      }
    }

    private static let ownFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC

    private static func removeContents(of folder: OpenFile, depth: Int) {
      // The lock last: what cannot be removed is tried again by the next process.
      let others = folder.names.filter { $0 != lockName }
      for name in others + [lockName] where unlinkat(folder.descriptor, name, 0) != 0 {
        guard depth > 0, let inner = OpenFile(name, in: folder, ownFolder), inner.status?.st_uid == geteuid() else {
          continue
        }
        removeContents(of: inner, depth: depth - 1)
        unlinkat(folder.descriptor, name, AT_REMOVEDIR)
      }
    }
  }

  extension OpenFile {
    fileprivate var names: [String] {
      let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
      guard copy >= 0, let entries = fdopendir(copy) else { return [] }
      defer { closedir(entries) }
      var names: [String] = []
      while let entry = readdir(entries) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) { start in
          start.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
      }
      return names
    }

    /// Whether it is of this kind, belongs to this user, and has these permissions.
    fileprivate func isPrivate(_ kind: mode_t, _ permissions: mode_t) -> Bool {
      guard let status else { return false }
      return status.st_mode & S_IFMT == kind && status.st_uid == geteuid()
        && status.st_mode & 0o777 & ~permissions == 0
    }
  }
#endif
