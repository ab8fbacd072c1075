import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

private struct FilmUpload: NetworkRequest {
  typealias Response = EmptyResponse
  let path = "/film"
  let method = HTTPMethod.post
  let headers: [String: String]? = nil
  var body: RequestBody? = RequestBody(data: .noise(1_000), contentType: "video/mp4")
  let multipartData: MultipartFormData? = nil
}

private struct FilmDownload: NetworkRequest {
  typealias Response = EmptyResponse
  let path = "/film"
  let method = HTTPMethod.get
}

/// The copies that killed processes have left, and files on other volumes.
struct BackgroundFilesTests {
  private let home: ScratchFolder
  private let server: LoopbackServer
  private let system = StandInTasks()
  private let content = Data.noise(200_000)

  init() throws {
    home = try ScratchFolder()
    server = try LoopbackServer()
    server.route("/film", .data(content))
  }

  /// A run of the app.
  private func run(_ identifier: String = "films") -> (BackgroundTransfers, BackgroundCenter) {
    let center = BackgroundCenter(places: BackgroundPlaces(home: home.url.path), identifier: identifier) {
      system.serve($0)
    }
    return (BackgroundTransfers(manager: Wire.automatic.manager(server), center: center), center)
  }

  private func copies(of identifier: String) -> [String] {
    let folder = BackgroundPlaces(home: home.url.path).spoolFolder(of: identifier)
    return (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  }

  /// A killed process has left the others, or another app needs them. This process may still be copying what has no
  /// transfer yet.
  @Test func onlyOldCopiesWithoutATransferAreRemoved() async throws {
    let (transfers, center) = run()
    await center.removeOldCopies()
    try await transfers.upload(FilmUpload(), id: "film")
    let copy = try #require(copies(of: "films").first)
    let copied = "\(copy.prefix(36)).\(UUID().uuidString)"
    let left = UUID().uuidString + "." + UUID().uuidString
    let folder = BackgroundPlaces(home: home.url.path).spoolFolder(of: "films")
    for name in [copied, left, "notes"] { try Data("x".utf8).write(to: folder.appendingPathComponent(name)) }
    await center.removeOldCopies(now: Date(timeIntervalSinceNow: 7 * 86_400))
    #expect(Set(copies(of: "films")) == [copy, copied, left, "notes"])
    let later = Date(timeIntervalSinceNow: 9 * 86_400)
    await center.removeOldCopies(now: later)
    #expect(Set(copies(of: "films")) == [copy, copied, "notes"])
    await run().1.removeOldCopies(now: later)
    #expect(Set(copies(of: "films")) == [copy, "notes"])
  }

  /// Its transfers are unknown. A clock that jumps does not show that there are none.
  @Test func copiesOfAnotherSessionAreRemovedAfterManyDaysOfDisuse() async throws {
    let other = BackgroundPlaces(home: home.url.path).spoolFolder(of: "songs")
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
    let copy = UUID().uuidString + "." + UUID().uuidString
    try Data("x".utf8).write(to: other.appendingPathComponent(copy))
    let (_, center) = run()
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    for years in [100.0, -20, 0] {
      for _ in 1...30 { await center.removeOldCopies(now: start.addingTimeInterval(years * 365 * 86_400)) }
      #expect(copies(of: "songs").contains(copy))
    }
    // The count begins with the next use.
    let (_, owner) = run("songs")
    var record = BackgroundRecord(id: "song", in: owner.places)
    record.spool = other.appendingPathComponent(copy).path
    try system.upload(URLRequest(url: server.url("/song")), from: other.appendingPathComponent(copy), text: record.text)
    await owner.removeOldCopies(now: start)
    #expect(copies(of: "songs") == [copy])
    for day in 1...16 {
      await center.removeOldCopies(now: start.addingTimeInterval(Double(day) * 86_400))
      #expect(copies(of: "songs").contains(copy))
    }
    await center.removeOldCopies(now: start.addingTimeInterval(17 * 86_400))
    #expect(!FileManager.default.fileExists(atPath: other.path))
  }

  /// A queue's file has no name any more, and another one may have got it.
  @Test(arguments: [true, false]) func bodyOfARemovedFileIsCopied(isReplaced: Bool) async throws {
    server.route("POST", "/film", .text("stored"))
    let queue = try PrismOfflineQueue(directory: home["queue"])
    let file = try home.file("body", content)
    try await queue.enqueue(URLRequest(url: server.url("/film")), body: .copy(file))
    let taken = try #require(await queue.dequeueAll().first?.urlRequest.httpBodyStream as? BodyInputStream)
    if isReplaced, case .segments(let segments) = taken.source, case .file(let segment)? = segments.first {
      try Data(count: content.count).write(to: segment.url)
    }
    let (transfers, center) = run()
    try await transfers.upload(FilmUpload(body: RequestBody(stream: taken, contentType: "video/mp4")), id: "film")
    try await system.perform(for: center)
    #expect(server.requests.map(\.body) == [content])
  }

  /// What the system has continued is a part with what was there before.
  @Test(arguments: [(1_000, false), (200_000, true)]) func partIsNotTheFile(count: Int, isWhole: Bool) async throws {
    let range = isWhole ? "bytes 1000-199999/200000" : "bytes 0-999/200000"
    server.route("/film", .data(content.prefix(count), status: 206, headers: ["Content-Range": range]))
    let (transfers, center) = run()
    try await transfers.download(FilmDownload(), to: home["a.mp4"], id: "film")
    try await system.perform(for: center)
    let end = await transfers.events.first { if case .progress = $0 { false } else { true } }
    if isWhole {
      guard case .finished? = end else { return anotherEvent() }
    } else {
      guard case .failed(_, let error as DownloadError, _)? = end else { return anotherEvent() }
      #expect(error == .incomplete(received: 1_000, announced: 200_000))
    }
    #expect(home.names.contains("a.mp4") == isWhole)
  }

  @Test func cancelledTaskStartsNothing() async throws {
    let (transfers, center) = run()
    let task = Task { [home] in
      withUnsafeCurrentTask { $0?.cancel() }
      return try await transfers.download(FilmDownload(), to: home["a.mp4"], id: "film")
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(system.jobs.withLock { $0.isEmpty } && center.state.withLock { $0.started.isEmpty })
  }

  /// The system's file is then copied, beside the part that another download has locked. A killed process has left a copy.
  @Test(.enabled("There is only one volume.") { hasMemoryVolume })
  func fileFromAnotherVolumeLeavesAPartialFileAlone() async throws {
    let memory = "/dev/shm/EKNetwork-\(UUID().uuidString)"
    try FileManager.default.createDirectory(at: URL(fileURLWithPath: memory), withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: memory) }
    let film = URL(fileURLWithPath: memory + "/a.mp4")
    let partial = try PartialFile(for: film)
    try partial.append(Data("half".utf8))
    try Data(count: 300_000).write(to: URL(fileURLWithPath: memory + "/.a.mp4.download.copy"))
    let (transfers, center) = run()
    try await transfers.download(FilmDownload(), to: film, id: "film")
    try await system.perform(for: center)
    let end = await transfers.events.first { if case .progress = $0 { false } else { true } }
    guard case .finished? = end else { return anotherEvent() }
    #expect(try Data(contentsOf: film) == content)
    #expect(throws: DownloadError.alreadyDownloading(film)) { try PartialFile(for: film) }
    #expect(partial.holds(4))
    #expect(try FileManager.default.contentsOfDirectory(atPath: memory).sorted() == [".a.mp4.download", "a.mp4"])
  }
}

/// Only Linux has one.
private var hasMemoryVolume: Bool {
  device("/dev/shm").map { $0 != device(NSTemporaryDirectory()) } ?? false
}

private func device(_ path: String) -> dev_t? {
  var status = stat()
  return stat(path, &status) == 0 ? status.st_dev : nil
}
