import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct BackgroundStateTests {
  private let places = BackgroundPlaces(home: "/home/1", group: "/groups/1")

  private func record(_ path: String, spool: String? = nil) -> BackgroundRecord {
    var record = BackgroundRecord(
      id: "a", destination: URL(fileURLWithPath: path), replacesFile: true, accepted: [200, 404], in: places)
    record.spool = spool
    return record
  }

  // MARK: Records

  @Test func recordSurvives() throws {
    let record = record("/home/1/Documents/a b/ü.mp4", spool: "/home/1/Library/x")
    #expect(BackgroundRecord(text: try record.text, in: places) == record)
    #expect(record.accepts(200) && record.accepts(404))
    #expect(!record.accepts(201) && !record.accepts(nil))
  }

  @Test(arguments: [
    ("/home/1/a", "/home/2/a"), ("/private/home/1/a", "/home/2/a"), ("/groups/1/a", "/groups/2/a"),
    ("/home/11/a", "/home/11/a"), ("/volumes/a", "/volumes/a"),
  ])
  func pathsFollowTheirFolders(_ path: String, now: String) throws {
    let moved = BackgroundPlaces(home: "/home/2", group: "/groups/2")
    let found = try #require(BackgroundRecord(text: try record(path, spool: path).text, in: moved))
    #expect(found.destination == now)
    #expect(found.spool == now)
    // And once more, from where they are now.
    let again = BackgroundPlaces(home: "/home/3", group: "/groups/3")
    #expect(
      BackgroundRecord(text: try found.text, in: again)?.destination == now.replacingOccurrences(of: "/2/", with: "/3/")
    )
  }

  @Test(arguments: [nil, "", "a", "{}", "[1]", "{\"id\":1}", "{\"id\":\"a\"}"])
  func taskOfAnotherIsNotTaken(_ text: String?) { #expect(BackgroundRecord(text: text, in: places) == nil) }

  @Test func boundsThatAreNoneAreLeftOut() {
    #expect(StatusCodes(bounds: [[5, 1], [1], [], [200, 300], [1, 2, 3], [7, 7]]) == .successful)
    #expect(StatusCodes(bounds: StatusCodes.any.bounds) == .any)
    #expect(StatusCodes(bounds: []) == [])
  }

  // MARK: The end of a task

  private func head(_ status: Int) throws -> ResponseHead {
    let url = try #require(URL(string: "http://a/"))
    return ResponseHead(
      try #require(HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)))
  }

  private func next(_ state: inout BackgroundState) -> BackgroundTransferEvent? { state.takeEvent() }

  @Test func longBodyIsNotKept() throws {
    var state = BackgroundState()
    let upload = BackgroundRecord(id: "a", accepted: .any, in: places)
    for _ in 0..<3 { state.received("a", Data(count: 500_000)) }
    _ = state.completed(upload, upload.transfer, head: try head(200), error: nil, resumeData: nil)
    guard case .finished(_, let response)? = next(&state) else { return anotherEvent() }
    #expect(response.data.isEmpty)
    // The next upload with this id has a body of its own.
    state.received("a", Data("x".utf8))
    _ = state.completed(upload, upload.transfer, head: try head(200), error: nil, resumeData: nil)
    guard case .finished(_, let second)? = next(&state) else { return anotherEvent() }
    #expect(second.data == Data("x".utf8))
  }

  @Test func downloadWithoutAFileHasFailed() throws {
    var state = BackgroundState()
    let download = record("/home/1/a")
    _ = state.completed(download, download.transfer, head: try head(200), error: nil, resumeData: nil)
    guard case .failed(_, NetworkError.invalidResponse, _)? = next(&state) else { return anotherEvent() }
  }

  @Test func errorOfTheSystemIsThatOfTheEvent() throws {
    var state = BackgroundState()
    let download = record("/home/1/a")
    var start = state.begin("a")
    #expect(start != nil)
    start = state.begin("a")
    #expect(start == nil)
    _ = state.completed(
      download, download.transfer, head: nil, error: URLError(.cancelled), resumeData: Data("r".utf8))
    guard case .failed(_, let error as URLError, let data)? = next(&state) else { return anotherEvent() }
    #expect(error.code == .cancelled)
    #expect(data == Data("r".utf8))
    start = state.begin("a")
    #expect(start != nil)
  }

  /// Its number is not kept: no task has it.
  @Test func endOfAStartIsNotThatOfATask() throws {
    var state = BackgroundState()
    let begun = state.begin("a")
    let start = try #require(begun)
    let waiter = SingleResult()
    let mustWait = state.wait(for: [start], waiter)
    let waiters = state.startEnded(start, hasFailed: true).waiters
    #expect(mustWait && waiters.count == 1)
    #expect(!state.hasEnded(start))
  }

  @Test func onlyTheLatestProgressWaits() throws {
    var state = BackgroundState()
    let one = record("/home/1/a")
    for bytes in 1...1_000 {
      _ = state.progressed(BackgroundTransfer(id: "a", completedBytes: Int64(bytes)))
      _ = state.progressed(BackgroundTransfer(id: "b", completedBytes: Int64(bytes)))
    }
    guard case .progress(let a)? = next(&state) else { return anotherEvent() }
    #expect(a == BackgroundTransfer(id: "a", completedBytes: 1_000))
    _ = state.progressed(BackgroundTransfer(id: "a", completedBytes: 1_001))
    _ = state.completed(one, one.transfer, head: nil, error: URLError(.timedOut), resumeData: nil)
    guard case .progress(let b)? = next(&state), case .failed(let end, _, _)? = next(&state) else {
      return anotherEvent()
    }
    #expect(b.id == "b")
    #expect(end.id == "a")
    let none = next(&state)
    #expect(none == nil)
  }

  @Test func eventGoesToTheReaderThatWaits() async throws {
    var state = BackgroundState()
    let event = try await withCheckedThrowingContinuation { continuation in
      let waiting = state.next(continuation, id: 1)
      #expect(waiting == nil)
      let delivery = state.progressed(BackgroundTransfer(id: "a", completedBytes: 1))
      delivery?.reader.resume(returning: .progress(BackgroundTransfer(id: "a", completedBytes: 1)))
      #expect(delivery?.event.transfer.completedBytes == 1)
    }
    #expect(event.transfer.id == "a")
    let none = state.takeEvent()
    #expect(none == nil)
  }

  // MARK: Suspension

  private enum Step { case handler, end, event }

  /// Returns how many handlers each step calls.
  private func calls(_ steps: [Step]) -> [Int] {
    var state = BackgroundState()
    return steps.map { step in
      switch step {
      case .handler: return state.handleEvents(WakeUpHandler {}).count
      case .end: return state.finishedEvents().count
      case .event:
        _ = state.progressed(BackgroundTransfer(id: "a"))
        return 0
      }
    }
  }

  @Test func handlersAreCalledAfterTheEvents() {
    #expect(calls([.handler, .event, .handler, .end, .end]) == [0, 0, 0, 2, 0])
  }

  /// The session was created at launch, and has delivered all its events before the app is given the handler. Only one: the next
  /// belongs to other events.
  @Test func handlerThatComesLateIsCalledAtOnce() {
    #expect(calls([.event, .end, .handler, .handler, .end]) == [0, 0, 1, 0, 1])
  }

  @Test func eventsThatFollowAreWaitedFor() {
    #expect(calls([.end, .event, .handler, .end]) == [0, 0, 0, 1])
  }
}
