import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// File system conditions that a download may meet.
struct DestinationTests {
  private let folder: ScratchFolder
  private let file: RangeServer
  private let manager: NetworkManager

  init() throws {
    folder = try ScratchFolder()
    file = try RangeServer(Data.noise(1_000))
    manager = Wire.automatic.manager(file.server)
  }

  private func download(to url: URL, _ existing: DownloadOptions.ExistingFile = .replace) async throws -> DownloadedFile
  {
    try await manager.download(FileRequest(), to: url, options: DownloadOptions(existingFile: existing))
  }

  @Test func existingFileIsReplacedAtomically() async throws {
    let url = try folder.file("a", Data("old".utf8))
    #expect(try await download(to: url).size == 1_000)
    #expect(try Data(contentsOf: url) == Data.noise(1_000))
    // A download that fails leaves the old one as it was.
    file.state.withLock { $0.breaks = [10] }
    await #expect(throws: (any Error).self) { try await download(to: url) }
    #expect(try Data(contentsOf: url) == Data.noise(1_000))
  }

  @Test func existingFileIsKept() async throws {
    let url = try folder.file("a", Data("old".utf8))
    let progress = NetworkProgress()
    let kept = try await manager.download(
      FileRequest(progress: progress), to: url, options: DownloadOptions(existingFile: .keep))
    #expect(kept == DownloadedFile(url: url, size: 3, statusCode: nil))
    #expect(progress.fractionCompleted == 1)
    #expect(try Data(contentsOf: url) == Data("old".utf8))
    #expect(file.server.acceptedConnections == 0)
  }

  @Test func existingFileIsAnError() async throws {
    let url = try folder.file("a", Data("old".utf8))
    await #expect(throws: DownloadError.fileExists(url)) { try await download(to: url, .fail) }
    #expect(file.server.acceptedConnections == 0)
    #expect(folder.names == ["a"])
  }

  @Test func keptLinkHasTheSizeOfItsTarget() async throws {
    let target = try folder.file("target", Data(count: 100))
    #expect(symlink(target.path, folder["a"].path) == 0)
    #expect(try await download(to: folder["a"], .keep).size == 100)
  }

  @Test func linkToNothingIsNotKept() async throws {
    #expect(symlink(folder["nowhere"].path, folder["a"].path) == 0)
    await #expect(throws: DownloadError.notWritable(folder["a"], code: ENOENT)) {
      try await download(to: folder["a"], .keep)
    }
    #expect(file.server.acceptedConnections == 0)
    #expect(try await download(to: folder["a"]).size == 1_000)
  }

  @Test func tooLongNameIsAnErrorBeforeSending() async throws {
    let url = folder[String(repeating: "a", count: 256)]
    await #expect(throws: DownloadError.notWritable(url, code: ENAMETOOLONG)) { try await download(to: url) }
    #expect(file.server.acceptedConnections == 0)
  }

  /// Checking beforehand is not enough: the file may appear during the download.
  @Test(arguments: [DownloadOptions.ExistingFile.keep, .fail, .replace])
  func fileAppearsDuringTheDownload(_ existing: DownloadOptions.ExistingFile) async throws {
    let url = folder["a"]
    file.server.route("/file") { _ in
      try Data("theirs".utf8).write(to: url)
      return .data(Data("ours".utf8))
    }
    switch existing {
    case .keep: #expect(try await download(to: url, .keep) == DownloadedFile(url: url, size: 6, statusCode: nil))
    case .fail: await #expect(throws: DownloadError.fileExists(url)) { try await download(to: url, .fail) }
    case .replace: #expect(try await download(to: url, .replace).size == 4)
    }
    let expected = existing == .replace ? "ours" : "theirs"
    #expect(try Data(contentsOf: url) == Data(expected.utf8))
    #expect(folder.names == ["a"])
  }

  @Test(arguments: [DownloadOptions.ExistingFile.keep, .fail, .replace])
  func missingFileIsCreated(_ existing: DownloadOptions.ExistingFile) async throws {
    #expect(try await download(to: folder["a"], existing).size == 1_000)
    #expect(folder.names == ["a"])
  }

  @Test func invalidDestinationIsAnErrorBeforeSending() async throws {
    let web = try #require(URL(string: "https://example.com/a"))
    await #expect(throws: DownloadError.notAFileURL(web)) { try await download(to: web) }
    await #expect(throws: DownloadError.folderNotFound(folder["none/a"].deletingLastPathComponent())) {
      try await download(to: folder["none/a"])
    }
    let inFile = try folder.file("file", Data())
    let below = inFile.appendingPathComponent("a")
    await #expect(throws: DownloadError.folderNotFound(below.deletingLastPathComponent())) {
      try await download(to: below)
    }
    await #expect(throws: DownloadError.notWritable(folder.url, code: EISDIR)) { try await download(to: folder.url) }
    let pipe = folder["pipe"]
    #expect(mkfifo(pipe.path, 0o600) == 0)
    await #expect(throws: DownloadError.notWritable(pipe, code: ENOTSUP)) { try await download(to: pipe) }
    unlink(pipe.path)
    #expect(file.server.acceptedConnections == 0)
    #expect(folder.names == ["file"])
  }

  /// Whether a file is moved with `rename` because its file system has no hard links.
  @Test(arguments: [(EPERM, true), (ENOTSUP, true), (ENOSYS, true), (ENOSPC, false), (EACCES, false), (EEXIST, false)])
  func codesOfAFileSystemWithoutHardLinks(_ code: Int32, isOne: Bool) {
    #expect(PartialFile.meansNoHardLinks(code) == isOne)
  }

  @Test func removedFolderIsAnError() async throws {
    let inner = folder["inner"]
    try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
    file.server.route("/file") { _ in
      try FileManager.default.removeItem(at: inner)
      return .data(Data.noise(1_000))
    }
    let url = inner.appendingPathComponent("a")
    await #expect(throws: DownloadError.folderNotFound(url.deletingLastPathComponent())) {
      try await download(to: url)
    }
  }

  @Test func secondDownloadToTheSameFileFails() async throws {
    let isHere = Gate()
    let mayGo = Gate()
    file.server.route("/file") { _ in
      .raw([
        .sendString("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"), .open(isHere), .wait(mayGo), .sendString("cd"),
      ])
    }
    let url = folder["a"]
    let first = Task { try await manager.download(FileRequest(), to: url) }
    #expect(await isHere.wait())
    await #expect(throws: DownloadError.alreadyDownloading(url)) { try await download(to: url) }
    mayGo.open()
    #expect(try await first.value.size == 4)
    #expect(try Data(contentsOf: url) == Data("abcd".utf8))
    #expect(folder.names == ["a"])
  }

  /// Middleware that ignores its cancellation is left behind, without the lock.
  @Test func cancelledDownloadBehindDeafMiddlewareReleasesItsLock() async throws {
    let deaf = Deaf()
    defer { deaf.release() }
    manager.middleware = [Intercept.waitingOnce(for: deaf)]
    let url = folder["a"]
    let first = await endingWhenCancelled(once: deaf.hasBegun) { [manager] in
      try await manager.download(FileRequest(), to: url)
    }
    #expect(first?.failure is CancellationError)
    #expect(try await download(to: url).size == 1_000)
    #expect(folder.names == ["a"])
  }

  @Test func hundredConcurrentDownloadsSucceed() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<100 {
        group.addTask { [manager, folder] in
          try await manager.download(FileRequest(), to: folder["\(index)"])
        }
      }
      try await group.waitForAll()
    }
    #expect(folder.names.count == 100)
    #expect(try folder.names.allSatisfy { try Data(contentsOf: folder[$0]) == Data.noise(1_000) })
  }

  @Test func longNameIsAccepted() async throws {
    let url = folder[String(repeating: "ü", count: 127)]
    #expect(try await download(to: url).size == 1_000)
    #expect(folder.names == [url.lastPathComponent])
  }

  #if os(Linux)
    /// As an NFS server does, or a FAT file system.
    @Test(.enabled("Only root has files made as somebody else's.") { geteuid() == 0 })
    func partialFileMayHaveAnotherOwner() throws {
      #expect(chmod(folder.url.path, 0o777) == 0)
      let user = setFileSystemUser(65_534)
      defer { _ = setFileSystemUser(UInt32(user)) }
      _ = try PartialFile(for: folder["a"])
      var status = stat()
      #expect(stat(folder[".a.download"].path, &status) == 0 && status.st_uid == 65_534)
    }
  #endif

  @Test func malformedMetadataIsIgnored() async throws {
    try folder.file(".a.download", Data(count: 500))
    try folder.file(".a.download.json", Data("{".utf8))
    #expect(try await download(to: folder["a"]).resumedBytes == 0)
    #expect(try Data(contentsOf: folder["a"]) == Data.noise(1_000))
    #expect(folder.names == ["a"])
  }

  @Test func errnosMapToErrorCases() {
    let url = folder["a"]
    #expect(DownloadError(ENOSPC, url) == .diskFull(url))
    #expect(DownloadError(EDQUOT, url) == .diskFull(url))
    #expect(DownloadError(EACCES, url) == .notWritable(url, code: EACCES))
    for error in [DownloadError.diskFull(url), .fileExists(url), .notWritable(url, code: EIO)] {
      #expect(error.localizedDescription.contains(url.path))
    }
  }
}

#if os(Linux)
  /// For the calling thread only. The Glibc module lacks it.
  @_silgen_name("setfsuid") private func setFileSystemUser(_ user: UInt32) -> Int32
#endif
