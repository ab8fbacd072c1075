import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

private struct FilmUpload: NetworkRequest {
  typealias Response = EmptyResponse
  let path = "/film"
  var method = HTTPMethod.post
  let headers: [String: String]? = nil
  var body: RequestBody? = RequestBody(data: .noise(200_000), contentType: "video/mp4")
  let multipartData: MultipartFormData? = nil
}

/// The body of an upload is copied to a file before the system gets a task.
struct BackgroundCopyTests {
  private let home: ScratchFolder
  private let server: LoopbackServer
  private let system = StandInTasks()
  private let transfers: BackgroundTransfers
  private let center: BackgroundCenter
  /// What the first copy waits for.
  private let gate = Gate()
  /// What the second copy waits for.
  private let otherGate = Gate()
  /// Those of copies that have not begun.
  private let gates: Locked<[Gate]>

  init() throws {
    home = try ScratchFolder()
    server = try LoopbackServer()
    let gates = Locked([gate, otherGate])
    self.gates = gates
    center = BackgroundCenter(
      places: BackgroundPlaces(home: home.url.path), identifier: "test",
      makeQueue: {
        let queue = BlockingQueue(label: "test")
        if let gate = gates.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { queue.start { gate.waitBlocking() } }
        return queue
      }, { [system] in system.serve($0) })
    transfers = BackgroundTransfers(manager: Wire.automatic.manager(server), center: center)
  }

  private var copies: Int {
    let folder = BackgroundPlaces(home: home.url.path).spoolFolder(of: "test")
    return (try? FileManager.default.contentsOfDirectory(atPath: folder.path))?.count ?? 0
  }

  private func upload(_ id: String) -> Task<BackgroundTransfer, any Error> {
    Task { [transfers] in try await transfers.upload(FilmUpload(), id: id) }
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func uploadIsCancelledMeanwhile(byItsTask: Bool) async throws {
    let first = upload("film")
    while center.state.withLock({ $0.starts.isEmpty }) { await Task.yield() }
    let cancelling = Task { [transfers] in
      if byItsTask { first.cancel() } else { await transfers.cancel(id: "film") }
    }
    while center.state.withLock({ !$0.starts.values.contains { $0.isCancelled } }) { await Task.yield() }
    gate.open()
    await cancelling.value
    // It has ended, and another one can begin.
    #expect(byItsTask || center.state.withLock { $0.started.isEmpty })
    let error = await #expect(throws: (any Error).self) { try await first.value }
    #expect(byItsTask ? error is CancellationError : (error as? URLError)?.code == .cancelled)
    #expect(copies == 0)
    #expect(system.jobs.withLock { $0.isEmpty })
    otherGate.open()
    _ = try await upload("film").value
    #expect(copies == 1)
  }

  @Test(.timeLimit(.minutes(5))) func cancellationDoesNotWaitForOtherCopies() async throws {
    let first = upload("first")
    while gates.withLock({ $0.count > 1 }) { await Task.yield() }
    let second = upload("second")
    while gates.withLock({ !$0.isEmpty }) { await Task.yield() }
    let cancelled = Task { [transfers] in await transfers.cancel(id: "second") }
    while center.state.withLock({ !$0.starts.values.contains { $0.isCancelled } }) { await Task.yield() }
    otherGate.open()
    await cancelled.value
    await #expect(throws: URLError.self) { try await second.value }
    #expect(center.state.withLock { $0.started } == ["first"])
    gate.open()
    #expect(try await first.value.id == "first")
  }

  /// The second one is started when the first has ended without a task, unless it is cancelled itself.
  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func uploadIsNotLostWithAnEarlierOne(isCancelled: Bool) async throws {
    let first = upload("film")
    while center.state.withLock({ $0.starts.isEmpty }) { await Task.yield() }
    first.cancel()
    let second = upload("film")
    while center.state.withLock({ $0.endWaiters.isEmpty }) { await Task.yield() }
    if isCancelled {
      second.cancel()
      await #expect(throws: CancellationError.self) { try await second.value }
    }
    gate.open()
    otherGate.open()
    await #expect(throws: CancellationError.self) { try await first.value }
    if !isCancelled { #expect(try await second.value.id == "film") }
    #expect(system.jobs.withLock { $0.count } == (isCancelled ? 0 : 1))
    #expect(copies == (isCancelled ? 0 : 1))
  }

  /// One that waits for an earlier start is that transfer once it has begun, and is cancelled with its id.
  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func waitingUploadSharesTheFateOfTheEarlierOne(isCancelled: Bool) async throws {
    let first = upload("film")
    while center.state.withLock({ $0.starts.isEmpty }) { await Task.yield() }
    let second = upload("film")
    while center.state.withLock({ $0.endWaiters.isEmpty }) { await Task.yield() }
    let cancelling = Task { [transfers] in if isCancelled { await transfers.cancel(id: "film") } }
    while isCancelled, center.state.withLock({ !$0.starts.values.contains { $0.isCancelled } }) { await Task.yield() }
    gate.open()
    otherGate.open()
    await cancelling.value
    for upload in [first, second] {
      if isCancelled {
        await #expect(throws: URLError.self) { try await upload.value }
      } else {
        #expect(try await upload.value.id == "film")
      }
    }
    #expect(system.jobs.withLock { $0.count } == (isCancelled ? 0 : 1))
  }

  /// Nothing is downloaded: the id is that of an upload.
  @Test(.timeLimit(.minutes(5))) func downloadThatWaitsForAnUploadIsThatUpload() async throws {
    let first = upload("film")
    while center.state.withLock({ $0.starts.isEmpty }) { await Task.yield() }
    let second = Task { [transfers, home] in
      try await transfers.download(FilmUpload(method: .get, body: nil), to: home["a"], id: "film")
    }
    while center.state.withLock({ $0.endWaiters.isEmpty }) { await Task.yield() }
    gate.open()
    #expect(try await first.value.id == "film")
    #expect(try await second.value.destination == nil)
    #expect(system.jobs.withLock { $0.count } == 1)
  }
}
