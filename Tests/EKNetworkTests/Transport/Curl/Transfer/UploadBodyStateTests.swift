#if os(Linux)
  import Testing

  @testable import EKNetwork

  @Suite("State of an upload's body") struct UploadBodyStateTests {
    private func state(
      _ status: Int, body: Int64? = nil, response: Int64? = nil, isChunked: Bool = false
    ) -> UploadBodyState {
      var state = UploadBodyState(length: body)
      state.sent(10)
      state.responded(status: status, length: response, isChunked: isChunked)
      return state
    }

    @Test(arguments: [(200, 2), (204, 0), (304, 0)] as [(Int, Int64)])
    func responseWithAllOfItsBodyIsEarly(status: Int, length: Int64) {
      for body in [nil, 11] as [Int64?] {
        let early = state(status, body: body, response: 2)
        #expect(early.isEarly(received: length))
        #expect(!early.mayHaveBeenReset(received: length))
      }
      #expect(!state(status, body: 10, response: 2).isEarly(received: length))
      #expect(!UploadBodyState(length: nil).isEarly(received: 0))
    }

    @Test func endOfAnIncompleteResponseMayBeAReset() {
      #expect(state(200).mayHaveBeenReset(received: 2))
      #expect(state(200, response: 3).mayHaveBeenReset(received: 2))
      #expect(!state(300).mayHaveBeenReset(received: 2))
      #expect(!state(200, body: 10).mayHaveBeenReset(received: 2))
      var ended = state(200)
      ended.ended()
      #expect(!ended.mayHaveBeenReset(received: 2))
      ended.rewound()
      #expect(ended.mayHaveBeenReset(received: 2) && ended.sentCount == 0)
    }

    @Test func pausedBodyIsResumedOnceForARefusal() {
      var refused = state(413, response: 2)
      #expect(refused.inputWhilePaused(received: 0, isAtEnd: { true }) == .resume)
      #expect(refused.inputWhilePaused(received: 0, isAtEnd: { false }) == .wait)
      #expect(refused.inputWhilePaused(received: 0, isAtEnd: { true }) == .end(CurlError.partialBody))
      #expect(refused.inputWhilePaused(received: 2, isAtEnd: { true }) == .end(0))
    }

    @Test func endOfTheConnectionEndsAPausedBody() {
      var none = UploadBodyState(length: nil)
      #expect(none.inputWhilePaused(received: 0, isAtEnd: { true }) == .end(CurlError.emptyReply))
      var (open, chunked) = (state(200), state(200, isChunked: true))
      #expect(open.inputWhilePaused(received: 5, isAtEnd: { true }) == .end(0))
      #expect(chunked.inputWhilePaused(received: 5, isAtEnd: { true }) == .end(CurlError.partialBody))
    }
  }
#endif
