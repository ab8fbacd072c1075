import LoopbackServer
import Testing

@testable import EKNetwork

/// Permissions do not apply to the superuser, for whom these tests are skipped.
@Suite(.timeLimit(.minutes(10)), .enabled(if: geteuid() != 0)) struct PermissionTests {
  private let server: LoopbackServer
  private let folder: ScratchFolder

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
  }

  @Test func unreadableFileIsAnErrorBeforeSending() async throws {
    let file = try folder.file("secret", Data("a".utf8))
    #expect(chmod(file.path, 0) == 0)
    var probe = Probe<StatusCodeResponse>(path: "/files", method: .post)
    probe.body = RequestBody(file: file, contentType: "a/b")
    await #expect(throws: RequestBodyError.fileNotReadable(file, code: EACCES)) {
      try await Wire.automatic.manager(server).send(probe)
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test func unwritableCacheFolderFailsNoRequest() async throws {
    #expect(chmod(folder.url.path, 0o500) == 0)
    defer { chmod(folder.url.path, 0o700) }
    server.route("/a") { _ in .text("body", headers: ["Cache-Control": "max-age=60"]) }
    let cache = HTTPCache(directory: folder.url)
    let failures = Locked<[Int32]>([])
    cache.storageFailureHandler = { failure in failures.withLock { $0.append(failure.code) } }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = cache
    #expect(try await manager.send(CacheProbe()).text == "body")
    // It is cached in memory.
    #expect(try await manager.send(CacheProbe()).isHit)
    #expect(Set(failures.withLock { $0 }) == [EACCES])
  }

  @Test(arguments: [true, false])
  func responseThatCannotBeRemovedIsNotUsed(isWholeDirectory: Bool) async throws {
    server.route("/a") { _ in .text("body", headers: ["Cache-Control": "max-age=60"]) }
    let cache = HTTPCache(directory: folder.url)
    let failures = Locked<[HTTPCache.StorageFailure]>([])
    cache.storageFailureHandler = { failure in failures.withLock { $0.append(failure) } }
    let manager = Wire.automatic.manager(server)
    manager.httpCache = cache
    #expect(!(try await manager.send(CacheProbe()).isHit))
    let store = folder["EKNetworkHTTPCache-1"]
    let subfolders = try FileManager.default.contentsOfDirectory(atPath: store.path)
      .map { store.appendingPathComponent($0).path }.filter { $0 != store.appendingPathComponent("salt").path }
    for path in subfolders + (isWholeDirectory ? [store.path] : []) { #expect(chmod(path, 0o500) == 0) }
    defer { for path in [store.path] + subfolders { chmod(path, 0o700) } }

    await cache.removeAll()
    #expect(failures.withLock { $0.first?.operation } == .write)
    #expect(!(try await manager.send(CacheProbe()).isHit))
    // Nor is it by a later process, which could not remove it either.
    let later = Wire.automatic.manager(server)
    later.httpCache = HTTPCache(directory: folder.url)
    #expect(!(try await later.send(CacheProbe()).isHit))
    #expect(Set(failures.withLock { $0.map(\.code) }) == [EACCES])
  }

  @Test func unwritableFolderIsAnErrorBeforeSending() async throws {
    #expect(chmod(folder.url.path, 0o500) == 0)
    defer { chmod(folder.url.path, 0o700) }
    let target = folder["a"]
    await #expect(throws: DownloadError.notWritable(target, code: EACCES)) {
      try await Wire.automatic.manager(server).download(Probe<EmptyResponse>(), to: target)
    }
    #expect(server.acceptedConnections == 0)
  }
}
