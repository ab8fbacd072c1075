import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Another program changes the file in which a download is. The result is one file, and never a mixture of two.
struct PartialFileTests {
  enum Damage: CaseIterable {
    case removed
    case replaced
    case truncated
    case link
  }

  private let folder: ScratchFolder
  private let content = Data.noise(300_000)
  private let file: RangeServer
  private var target: URL { folder["a.bin"] }
  private var partial: URL { folder[".a.bin.download"] }

  init() throws {
    folder = try ScratchFolder()
    file = try RangeServer(content)
  }

  private static func damage(_ partial: URL, _ damage: Damage) throws {
    if damage != .truncated { try FileManager.default.removeItem(at: partial) }
    switch damage {
    case .removed: break
    case .replaced: try Data(count: 100_000).write(to: partial)
    case .truncated: #expect(truncate(partial.path, 50_000) == 0)
    case .link:
      let theirs = partial.deletingLastPathComponent().appendingPathComponent("theirs")
      try Data(count: 100_000).write(to: theirs)
      #expect(symlink(theirs.path, partial.path) == 0)
    }
  }

  private func download(
    _ manager: NetworkManager, _ damage: Damage, beforeRetry: @escaping () throws -> Void = {}
  ) async throws -> DownloadedFile? {
    let policy = RetryPolicy(maxRetryCount: 1, delay: 0) { _ in
      #expect(throws: Never.self) { try beforeRetry() }
      return true
    }
    let request = FileRequest(retryPolicy: policy)
    guard damage == .link else { return try await manager.download(request, to: target) }
    await #expect(throws: DownloadError.notWritable(target, code: ELOOP)) {
      try await manager.download(request, to: target)
    }
    #expect(try Data(contentsOf: folder["theirs"]) == Data(count: 100_000))
    #expect(!FileManager.default.fileExists(atPath: target.path))
    return nil
  }

  @Test(arguments: Damage.allCases) func fileIsChangedBetweenAttempts(_ damage: Damage) async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(file.server)
    let changed = try await download(manager, damage) { [partial] in try Self.damage(partial, damage) }
    guard let result = changed else { return }
    #expect(result.size == 300_000)
    #expect(result.resumedBytes == 0)
    #expect(try Data(contentsOf: target) == content)
    #expect(file.ranges == [nil, nil])
    #expect(folder.names == ["a.bin"])
  }

  @Test(arguments: Damage.allCases) func fileIsChangedWhileTheRestIsRequested(_ damage: Damage) async throws {
    let (content, partial) = (content, partial)
    let ranges = Locked<[String?]>([])
    file.server.route("/file") { request in
      let range = request.headers["Range"]
      let number = ranges.withLock { ranges in
        ranges.append(range)
        return ranges.count
      }
      if number == 2 { try Self.damage(partial, damage) }
      guard range != nil else {
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\nETag: \"v1\"\r\n\r\n".utf8)
        return .raw(number == 1 ? [.send(head + content.prefix(100_000)), .close] : [.send(head + content)])
      }
      let head =
        "HTTP/1.1 206 Partial Content\r\nContent-Length: 200000\r\nETag: \"v1\"\r\n"
        + "Content-Range: bytes 100000-299999/300000\r\n\r\n"
      return .raw([.send(Data(head.utf8)), .send(content.suffix(200_000))])
    }
    guard try await download(Wire.automatic.manager(file.server), damage) != nil else { return }
    #expect(try Data(contentsOf: target) == content)
    #expect(ranges.withLock { $0 } == [nil, "bytes=100000-", nil])
    #expect(folder.names == ["a.bin"])
  }

  /// A note that is older than what it is about would make two files one.
  @Test func fileOfAnotherProgramIsNotResumedInALaterCall() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(file.server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    try Data(count: 100_000).write(to: folder["theirs"])
    #expect(rename(folder["theirs"].path, partial.path) == 0)
    #expect(try await manager.download(FileRequest(), to: target).resumedBytes == 0)
    #expect(try Data(contentsOf: target) == content)
    #expect(file.ranges == [nil, nil])
  }

  /// The beginning of the file is still the beginning of the file.
  @Test func truncatedFileIsResumedInALaterCall() async throws {
    file.state.withLock { $0.breaks = [100_000] }
    let manager = Wire.automatic.manager(file.server)
    await #expect(throws: URLError.self) { try await manager.download(FileRequest(), to: target) }
    #expect(truncate(partial.path, 50_000) == 0)
    #expect(try await manager.download(FileRequest(), to: target).resumedBytes == 50_000)
    #expect(try Data(contentsOf: target) == content)
    #expect(file.ranges == [nil, "bytes=50000-"])
  }

  /// While a body is written to it.
  @Test(arguments: Damage.allCases) func changedFileIsNotTheResult(_ damage: Damage) throws {
    let download = try PartialFile(for: target)
    try download.prepare(at: 0, of: nil)
    try download.append(content.prefix(100_000))
    #expect(download.holds(100_000))
    try Self.damage(partial, damage)
    try download.append(content.suffix(200_000))
    #expect(!download.holds(300_000))
    #expect(throws: DownloadError.notWritable(target, code: ESTALE)) {
      try download.finish(length: 300_000, replacing: true, synchronizing: false)
    }
    #expect(!FileManager.default.fileExists(atPath: target.path))
    let names = folder.names
    download.discard()
    // What is not this download's is left alone.
    #expect(folder.names == (damage == .truncated ? [] : names))
  }
}
