import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What may become of a queue's folder, and of the files in it.
@Suite(.timeLimit(.minutes(10))) struct OfflineFolderTests {
  private let folder: ScratchFolder
  private let url: URL
  private var directory: URL { folder["queue"] }

  init() throws {
    folder = try ScratchFolder()
    url = try #require(URL(string: "https://example.com"))
  }

  private func open(
    _ delivery: PrismQueueDelivery = .each { _ in throw URLError(.notConnectedToInternet) },
    _ change: (inout PrismOfflineQueueOptions) -> Void = { _ in }
  ) throws -> PrismOfflineQueue {
    var options = PrismOfflineQueueOptions()
    change(&options)
    return try PrismOfflineQueue(directory: directory, delivery: delivery, autoFlush: false, options: options)
  }

  private func request(_ path: String, _ change: (inout URLRequest) -> Void = { _ in }) -> URLRequest {
    var request = URLRequest(url: url.appendingPathComponent(path))
    change(&request)
    return request
  }

  /// The names of the requests and bodies in the folder.
  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []).filter { $0 != "lock" }.sorted()
  }

  /// A count that could not be written once is written with the next one.
  @Test func countOfRetriesIsNotLeftBehind() async throws {
    let queue = try open()
    try await queue.enqueue(request("/a"))
    let obstacle = directory.appendingPathComponent("00000000000000000001-1.request")
    try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
    await #expect(throws: URLError.self) { try await queue.flush() }
    #expect(names == ["00000000000000000001-0.request", obstacle.lastPathComponent])
    try FileManager.default.removeItem(at: obstacle)
    for count in 2...3 {
      await #expect(throws: URLError.self) { try await queue.flush() }
      #expect(names == ["00000000000000000001-\(count).request"])
    }
    #expect(try OfflineStore.load(directory).entries.map(\.request.retryCount) == [3])
    withExtendedLifetime(queue) {}
  }

  /// A process may have only a few hundred of them.
  @Test func manyBodiesTakeFewDescriptors() async throws {
    let queue = try open { $0.synchronizes = false }
    let count = 100
    // Of different lengths, so that a wrong position shows.
    let body = { (number: Int) in Data("\(number)".utf8) + Data(count: number * 700) }
    for number in 0..<count {
      let file = try folder.file("film", body(number))
      try await queue.enqueue(request("/\(number)"), body: .copy(file))
    }
    let taken = await queue.dequeueAll()
    #expect(names == [])
    let streams = taken.compactMap { $0.urlRequest.httpBodyStream as? BodyInputStream }
    try #require(streams.count == count)
    var files: [OpenFile] = []
    for (number, stream) in streams.enumerated() {
      guard case .segments(let segments) = stream.source, case .file(let segment)? = segments.first else {
        Issue.record("\(stream.source)")
        continue
      }
      files.append(try segment.open())
      var buffer = [UInt8](repeating: 1, count: 100_000)
      let length = try buffer.withUnsafeMutableBytes { try SegmentReader(segments).read(into: $0) }
      #expect(Data(buffer.prefix(length)) == body(number))
    }
    #expect(Set(files.map(\.descriptor)).count <= 32)
    // Into another queue, too.
    let other = try PrismOfflineQueue(directory: folder["other"])
    try await other.enqueue(taken[count - 1], body: .ofRequest)
    #expect(await other.byteCount > 99 * 700)
  }

  /// A sparse file of a size that no memory has.
  @Test func hugeFileIsNotRead() async throws {
    let queue = try open(.each { _ in })
    try await queue.enqueue(request("/a"))
    let stored = try #require(names.first)
    let huge = directory.appendingPathComponent("00000000000000000000-0.request")
    try FileManager.default.copyItem(at: directory.appendingPathComponent(stored), to: huge)
    #expect(truncate(huge.path, 1 << 40) == 0)
    let loaded = try OfflineStore.load(directory)
    #expect(loaded.damaged.map(\.lastPathComponent) == [huge.lastPathComponent])
    #expect(loaded.entries.count == 1)
    try await queue.flush()
    #expect(names == [huge.lastPathComponent])
  }

  /// What a queue accepts it also reads, whatever its limit.
  @Test func fileOfTheSizeThatIsAllowedIsRead() async throws {
    let queue = try open()
    try await queue.enqueue(request("/a") { $0.httpBody = Data(count: 100_000) })
    #expect(try OfflineStore.load(directory, maximumBytes: 100).entries.count == 1)
    withExtendedLifetime(queue) {}
  }

  /// By a program that tidies up, for example.
  @Test func removedLockIsMadeAgain() async throws {
    let sent = Locked<[Data?]>([])
    let film = try folder.file("film", Data("film".utf8))
    let queue = try open(
      .each { request in
        let request = request.urlRequest
        sent.withLock { $0.append(request.httpBody) }
      })
    try await queue.enqueue(request("/a"), body: .copy(film))
    unlink(directory.appendingPathComponent("lock").path)
    try await queue.enqueue(request("/b") { $0.httpBody = Data("b".utf8) })
    #expect(throws: PrismOfflineQueueError.alreadyOpen(directory)) { try open() }
    unlink(directory.appendingPathComponent("lock").path)
    try await queue.flush()
    #expect(sent.withLock { $0.count } == 2)
    #expect(names == [])
  }

  /// As with a process that has too many files open: the folder is still that of this queue.
  @Test func queueWhoseLockCannotBeMadeAgainLosesNoRequest() async throws {
    let sent = Locked(0)
    let failures = Locked<[any Error]>([])
    let film = try folder.file("film", Data("film".utf8))
    let queue = try open(.each { _ in sent.withLock { $0 += 1 } }) {
      $0.undelivered = { _, error in failures.withLock { $0.append(error) } }
    }
    try await queue.enqueue(request("/a"), body: .copy(film))
    let lock = directory.appendingPathComponent("lock").path
    unlink(lock)
    #expect(symlink(folder["none"].path, lock) == 0)
    try await queue.enqueue(request("/b"))
    try await queue.flush()
    #expect(sent.withLock { $0 } == 2)
    #expect(failures.withLock { $0.isEmpty })
    #expect(names == [])
  }

  /// Whichever queue has opened the folder since has its requests.
  @Test func folderThatAnotherQueueHasOpenedIsLeftAlone() async throws {
    // Without the slash that the URL of an existing folder has.
    let directory = self.directory
    let queue = try open(.each { _ in })
    try await queue.enqueue(request("/a"))
    let stored = names
    unlink(directory.appendingPathComponent("lock").path)
    #expect(await (try open()).count == 1)
    await #expect(throws: PrismOfflineQueueError.notWritable(directory, code: ESTALE)) {
      try await queue.enqueue(request("/b"))
    }
    try await queue.flush()
    #expect(names == stored)
  }

  /// Another queue may have the folder that has taken the place of a removed one, with requests of the same positions.
  @Test func replacedFolderIsLeftAlone() async throws {
    // Without the slash that the URL of an existing folder has.
    let directory = self.directory
    let failures = Locked<[any Error]>([])
    let sent = Locked<[Data?]>([])
    let isOnline = Locked(false)
    let film = try folder.file("film", Data("old".utf8))
    let delivery = PrismQueueDelivery.each { request in
      guard isOnline.withLock({ $0 }) else { throw URLError(.notConnectedToInternet) }
      sent.withLock { $0.append(request.urlRequest.httpBody) }
    }
    let old = try open(delivery) { $0.undelivered = { _, error in failures.withLock { $0.append(error) } } }
    try await old.enqueue(request("/a"), body: .copy(film))
    try await old.enqueue(request("/b") { $0.httpBody = Data("b".utf8) })
    try FileManager.default.removeItem(at: directory)
    await #expect(throws: PrismOfflineQueueError.notWritable(directory, code: ENOENT)) {
      try await old.enqueue(request("/c"))
    }
    let new = try open()
    try folder.file("film", Data("new".utf8))
    try await new.enqueue(request("/d"), body: .copy(film))
    try await new.enqueue(request("/e"))
    let stored = names
    await #expect(throws: PrismOfflineQueueError.notWritable(directory, code: ESTALE)) {
      try await old.enqueue(request("/c"))
    }
    // The body of the first one was removed with the folder.
    await #expect(throws: URLError.self) { try await old.flush() }
    let body = directory.appendingPathComponent("00000000000000000001.body")
    #expect(failures.withLock { $0 as? [PrismOfflineQueueError] } == [.bodyNotReadable(body)])
    isOnline.withLock { $0 = true }
    try await old.flush()
    #expect(sent.withLock { $0 } == [Data("b".utf8)])
    #expect(await old.count == 0)
    #expect(names == stored)
    #expect(await new.count == 2)
  }
}
