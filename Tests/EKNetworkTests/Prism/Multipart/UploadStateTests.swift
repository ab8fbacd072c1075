import Testing

@testable import EKNetwork

@Suite struct UploadStateTests {
  private struct Failure: Error {}

  private let listener = AsyncStream<PrismUploadProgress>.makeStream().continuation

  @Test func startsOnce() {
    var state = UploadState<Int>(total: 10)
    let starts = [state.start(), state.start()]
    #expect(starts == [true, false])
  }

  @Test func cancelBeforeStartIsIgnored() {
    var state = UploadState<Int>(total: 10)
    state.cancel()
    #expect(!state.isCancelled)
    let starts = state.start()
    #expect(starts)
    state.cancel()
    #expect(state.isCancelled)
  }

  @Test func abandonedWhenLastListenerLeaves() {
    var state = UploadState<Int>(total: 10)
    let id = state.takeID()
    let listens = state.listen(listener, id: id)
    #expect(listens && !state.isAbandoned)
    _ = state.start()
    #expect(!state.isAbandoned)
    let removed = state.removeListener(id)
    #expect(removed != nil && state.isAbandoned)
    _ = state.finish(.success(1))
    #expect(!state.isAbandoned)
  }

  @Test func progressOnlyGrowsAndEndsComplete() {
    var state = UploadState<Int>(total: 10)
    var reported: [Int64?] = []
    for bytes in [4, 4, 3, 12] as [Int64] { reported.append(state.sent(bytes)?.bytesUploaded) }
    #expect(reported == [4, nil, nil, 10])
    _ = state.finish(.success(1))
    #expect(state.progress.bytesUploaded == 10)
    let late = state.sent(99)
    #expect(late == nil)
  }

  @Test func failureKeepsProgressAndRefusesListeners() {
    var state = UploadState<Int>(total: 10)
    _ = state.sent(4)
    _ = state.listen(listener, id: 1)
    let (listeners, _) = state.finish(.failure(Failure()))
    #expect(listeners.count == 1)
    #expect(state.progress.bytesUploaded == 4)
    let listens = state.listen(listener, id: 2)
    #expect(!listens)
  }
}
