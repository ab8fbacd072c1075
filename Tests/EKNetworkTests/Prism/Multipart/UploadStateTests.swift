import Testing

@testable import EKNetwork

struct UploadStateTests {
  private let listener = AsyncStream<PrismUploadProgress>.makeStream().continuation

  @Test func startsOnce() {
    var state = UploadState(total: 10)
    let starts = [state.start(), state.start()]
    #expect(starts == [true, false])
  }

  @Test func cancelBeforeStartIsIgnored() {
    var state = UploadState(total: 10)
    state.cancel()
    #expect(!state.isCancelled)
    let starts = state.start()
    #expect(starts)
    state.cancel()
    #expect(state.isCancelled)
  }

  @Test func abandonedWhenLastListenerLeaves() {
    var state = UploadState(total: 10)
    let id = state.takeID()
    let listens = state.listen(listener, id: id)
    #expect(listens && !state.isAbandoned)
    _ = state.start()
    #expect(!state.isAbandoned)
    let removed = state.removeListener(id)
    #expect(removed != nil && state.isAbandoned)
    _ = state.finish(succeeded: true)
    #expect(!state.isAbandoned)
  }

  @Test func progressOnlyGrowsAndEndsComplete() {
    var state = UploadState(total: 10)
    var reported: [Int64?] = []
    for bytes in [4, 4, 3, 12] as [Int64] { reported.append(state.sent(bytes, of: 10)?.bytesUploaded) }
    #expect(reported == [4, nil, nil, 10])
    _ = state.finish(succeeded: true)
    #expect(state.progress.bytesUploaded == 10)
    let late = state.sent(99, of: 99)
    #expect(late == nil)
  }

  @Test func totalIsThatOfTheBodyThatIsSent() {
    var state = UploadState(total: 10)
    let sent = [state.sent(4, of: nil), state.sent(20, of: 30), state.sent(25, of: nil)]
    #expect(sent.map { $0?.bytesUploaded } == [4, 20, 25])
    #expect(sent.map { $0?.totalBytes } == [10, 30, 30])
    _ = state.finish(succeeded: true)
    #expect(state.progress == PrismUploadProgress(bytesUploaded: 30, totalBytes: 30))
  }

  @Test func totalIsKnownBeforeAnythingIsSent() {
    var state = UploadState(total: 10)
    state.begin(total: 0)
    _ = state.finish(succeeded: true)
    #expect(state.progress == PrismUploadProgress(bytesUploaded: 0, totalBytes: 0))
    state.begin(total: 10)
    #expect(state.progress.totalBytes == 0)
  }

  @Test func failureKeepsProgressAndRefusesListeners() {
    var state = UploadState(total: 10)
    _ = state.sent(4, of: nil)
    _ = state.listen(listener, id: 1)
    let listeners = state.finish(succeeded: false)
    #expect(listeners.count == 1)
    #expect(state.progress.bytesUploaded == 4)
    let listens = state.listen(listener, id: 2)
    #expect(!listens)
  }
}
