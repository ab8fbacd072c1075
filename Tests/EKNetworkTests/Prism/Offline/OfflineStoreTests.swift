import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct OfflineStoreTests {
  private let folder: ScratchFolder
  private var directory: URL { folder["queue"] }

  init() throws { folder = try ScratchFolder() }

  private func store(_ request: StoredRequest) throws {
    let store = try OfflineStore(directory, synchronizes: false)
    try store.write(OfflineStore.head(of: request), Data(), sequence: 1, retryCount: 0)
  }

  /// Stores a request whose body is in a file, and returns that file as it is found after the home directory has moved.
  private func fileOfLoadedRequest(_ path: String, storedHome: String?, home: String) throws -> String? {
    let url = try #require(URL(string: "https://example.com/a"))
    var stored = try StoredRequest(
      PrismQueuedRequest(urlRequest: URLRequest(url: url)), body: .referenced(path: path), storesCredentials: false)
    #expect(stored.home == NSHomeDirectory())
    stored.home = storedHome
    try store(stored)
    let loaded = try OfflineStore.load(directory, home: home)
    #expect(loaded.damaged == [])
    return loaded.entries.first?.request.bodyFile?.path
  }

  @Test func fileIsFoundAfterItsHomeDirectoryHasMoved() throws {
    let (old, new) = (folder["old"].path, folder["new"].path)
    let file = try fileOfLoadedRequest(old + "/Documents/film.mp4", storedHome: old, home: new)
    #expect(file == new + "/Documents/film.mp4")
  }

  @Test func existingFileAndOldRecordKeepTheirPath() throws {
    let old = folder.url.path
    let file = try folder.file("film.mp4", Data([1]))
    #expect(try fileOfLoadedRequest(file.path, storedHome: old, home: "/new") == file.path)
    let missing = folder["missing.mp4"].path
    #expect(try fileOfLoadedRequest(missing, storedHome: nil, home: "/new") == missing)
    #expect(try fileOfLoadedRequest(missing, storedHome: old, home: old) == missing)
  }

  @Test(
    arguments: [
      ("/var/A/Documents/x", "/var/A", "/var/B/Documents/x"), ("/private/var/A/x", "/var/A", "/var/B/x"),
      ("/var/AB/x", "/var/A", "/var/AB/x"), ("/tmp/var/A/x", "/var/A", "/tmp/var/A/x"), ("/var/A", "/var/A", "/var/A"),
      ("/x", "/", "/x"), ("/var/A/x", nil, "/var/A/x"), ("/var/B/x", "/var/B", "/var/B/x"),
    ] as [(String, String?, String)])
  func pathFollowsHomeDirectory(path: String, old: String?, expected: String) {
    #expect(path.moved(from: old, to: "/var/B") == expected)
  }

  /// It is not damaged because too many files are open, or because the device is locked.
  @Test(arguments: [(EMFILE, false), (EPERM, false), (ENOENT, true), (ELOOP, true)])
  func fileThatCannotBeOpenedNow(_ code: Int32, isDamaged: Bool) throws {
    let directory = self.directory
    let url = try #require(URL(string: "https://example.com/a"))
    let stored = try StoredRequest(
      PrismQueuedRequest(urlRequest: URLRequest(url: url)), body: .inline, storesCredentials: false)
    try store(stored)
    let load = {
      try OfflineStore.load(directory) { _ in
        errno = code
        return nil
      }
    }
    if isDamaged {
      #expect(try load().damaged.count == 1)
    } else {
      #expect(throws: PrismOfflineQueueError.notWritable(directory, code: code)) { try load() }
    }
    #expect(try OfflineStore.load(directory).entries.count == 1)
  }

  /// The others are sent. It stays, with its body.
  @Test(arguments: ["1-0.request", "1.body"]) func fileThatCanNeverBeOpened(_ suffix: String) throws {
    let url = try #require(URL(string: "https://example.com/a"))
    let stored = try StoredRequest(
      PrismQueuedRequest(urlRequest: URLRequest(url: url)), body: .copied, storesCredentials: false)
    let store = try OfflineStore(directory, synchronizes: false)
    for sequence in UInt64(1)...2 {
      _ = try store.copy([.data(Data("body".utf8))], sequence: sequence)
      try store.write(OfflineStore.head(of: stored), Data(), sequence: sequence, retryCount: 0)
    }
    let loaded = try OfflineStore.load(directory) { file in
      errno = EPERM
      return file.path.hasSuffix("0" + suffix) ? nil : OpenFile(file.path, O_RDONLY | O_CLOEXEC)
    }
    #expect(loaded.damaged.map(\.lastPathComponent) == ["00000000000000000001-0.request"])
    #expect(loaded.entries.map(\.sequence) == [2])
    #expect(loaded.lastSequence == 2)
    #expect(try OfflineStore.load(directory).entries.map(\.sequence) == [1, 2])
  }

  @Test func filesWithOtherNamesAreNotRemoved() throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    let number = "00000000000000000009"
    let leftovers = [
      "\(number)-0.request.partial", "\(number)-12.request.partial", "\(number).body", "\(number).body.partial",
      "owner.partial",
    ]
    let others = [
      "notes.partial", "film.mp4.partial", "text.body", "9.body", "\(number).body.txt", "+\(number.dropFirst()).body",
      "9-0.request.partial", "\(number)-00.request.partial", "\(number).partial",
    ]
    for name in leftovers + others { try Data("x".utf8).write(to: directory.appendingPathComponent(name)) }
    let loaded = try OfflineStore.load(directory)
    #expect(loaded.entries.isEmpty)
    #expect(loaded.damaged == [])
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == others.sorted())
  }

  // MARK: - The folder

  /// Its owner could put delivered requests back.
  @Test(.enabled(if: geteuid() == 0), arguments: [(uid_t(12_345), false), (0, true)])
  func folderOfAnotherUserIsRefused(_ owner: uid_t, _ isAccepted: Bool) throws {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
    #expect(chown(directory.path, owner, gid_t.max) == 0)
    if isAccepted {
      _ = try OfflineStore(directory, synchronizes: false)
    } else {
      #expect(throws: PrismOfflineQueueError.notWritable(directory, code: EPERM)) {
        try OfflineStore(directory, synchronizes: false)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }
  }

  private func inode(_ url: URL) -> ino_t { OpenFile(url.path, O_RDONLY)?.status?.st_ino ?? 0 }

  /// A name is on the disk when the folder that contains it is.
  @Test(arguments: [(false, true), (true, true), (true, false)])
  func foldersAreSynchronized(_ exists: Bool, _ synchronizes: Bool) throws {
    let inner = folder["a"].appendingPathComponent("b").appendingPathComponent("queue")
    if exists { try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: true) }
    let done = Locked<[ino_t]>([])
    _ = try OfflineStore(inner, synchronizes: synchronizes) { file in
      let inode = file.status?.st_ino ?? 0
      done.withLock { $0.append(inode) }
      return true
    }
    let parents = [folder.url, folder["a"], folder["a"].appendingPathComponent("b")].map(inode)
    #expect(done.withLock { $0 } == (synchronizes ? exists ? Array(parents.suffix(1)) : parents : []))
    #expect(OpenFile(inner.path, O_RDONLY)?.status.map { exists || $0.st_mode & 0o777 == 0o700 } == true)
  }

  /// A request is stored when its file and its name are on the disk, or not at all.
  @Test(arguments: [(EIO, false), (ENOSPC, false), (EINVAL, true), (ENOTSUP, true), (EPERM, true)])
  func failureToSynchronizeTheFolderIsReported(_ code: Int32, _ isStored: Bool) throws {
    // Without the slash that the URL of an existing folder has.
    let directory = self.directory
    let store = try OfflineStore(directory, synchronizes: true) { file in
      guard file.status.map({ $0.st_mode & S_IFMT == S_IFDIR }) == true, file.status?.st_ino == inode(directory) else {
        return file.synchronize()
      }
      errno = code
      return false
    }
    let url = try #require(URL(string: "https://example.com/a"))
    let stored = try StoredRequest(
      PrismQueuedRequest(urlRequest: URLRequest(url: url)), body: .inline, storesCredentials: false)
    let write = { try store.write(OfflineStore.head(of: stored), Data(), sequence: 1, retryCount: 0) }
    if isStored {
      try write()
    } else {
      #expect(throws: PrismOfflineQueueError.notWritable(directory, code: code)) { try write() }
    }
    #expect(try OfflineStore.load(directory).entries.count == (isStored ? 1 : 0))
  }
}
