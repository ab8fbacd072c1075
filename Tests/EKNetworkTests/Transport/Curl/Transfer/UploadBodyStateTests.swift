#if os(Linux)
  import CCurl
  import Testing

  @testable import EKNetwork

  @Suite("State of an upload's body") struct UploadBodyStateTests {
    private func state(
      _ status: Int, body: Int64? = nil, response: Int64? = nil, isChunked: Bool = false
    ) -> UploadBodyState {
      var state = UploadBodyState(length: body)
      state.read(10)
      state.responded(status: status, length: response, isChunked: isChunked)
      return state
    }

    @Test(arguments: [(200, 2), (204, 0), (304, 0)] as [(Int, Int64)])
    func responseWithAllOfItsBodyIsEarly(status: Int, length: Int64) {
      for body in [nil, 11] as [Int64?] {
        let early = state(status, body: body, response: 2)
        #expect(early.isEarly(received: length, sent: 10))
        #expect(!early.mayHaveBeenReset(received: length, sent: 0))
      }
      let all = state(status, body: 10, response: 2)
      #expect(!all.isEarly(received: length, sent: 10))
      // libcurl has read all of it, and sent less.
      #expect(all.isEarly(received: length, sent: 9))
      #expect(!UploadBodyState(length: nil).isEarly(received: 0, sent: 0))
    }

    @Test func endOfAnIncompleteResponseMayBeAReset() {
      #expect(state(200).mayHaveBeenReset(received: 2, sent: 10))
      #expect(state(200, body: 11).mayHaveBeenReset(received: 2, sent: 10))
      #expect(state(200, response: 3).mayHaveBeenReset(received: 2, sent: 10))
      #expect(!state(300).mayHaveBeenReset(received: 2, sent: 10))
      #expect(!state(200, body: 10).mayHaveBeenReset(received: 2, sent: 10))
      var ended = state(200)
      ended.ended()
      #expect(!ended.mayHaveBeenReset(received: 2, sent: 10))
      ended.rewound()
      #expect(ended.mayHaveBeenReset(received: 2, sent: 10) && ended.readCount == 0)
    }

    /// libcurl may have sent 64 KiB more than it has counted.
    @Test(arguments: [nil, 100_000] as [Int64?])
    func bodyThatWasReadMayNotHaveBeenSent(length: Int64?) {
      var state = UploadBodyState(length: length)
      state.read(100_000)
      state.ended()
      state.responded(status: 200, length: nil, isChunked: false)
      #expect(state.mayHaveBeenReset(received: 2, sent: 0))
      #expect(state.mayHaveBeenReset(received: 2, sent: 100_000 - 65_537))
      #expect(!state.mayHaveBeenReset(received: 2, sent: 100_000 - 65_536))
    }

    @Test func pausedBodyIsResumedOnceForARefusal() {
      var refused = state(413, response: 2)
      #expect(refused.inputWhilePaused(received: 0, input: { EKN_SOCKET_AT_END }) == .resume)
      #expect(refused.inputWhilePaused(received: 0, input: { EKN_SOCKET_READABLE }) == .wait)
      #expect(refused.inputWhilePaused(received: 0, input: { EKN_SOCKET_AT_END }) == .end(CurlError.partialBody))
      #expect(refused.inputWhilePaused(received: 2, input: { EKN_SOCKET_AT_END }) == .end(0))
    }

    /// What follows a complete response is the end of the connection, perhaps that of TLS.
    @Test func inputAfterACompleteResponseEndsAPausedBody() {
      var (complete, partial, chunked) = (state(200, response: 2), state(200, response: 3), state(200, isChunked: true))
      #expect(complete.inputWhilePaused(received: 2, input: { EKN_SOCKET_QUIET }) == .wait)
      #expect(complete.inputWhilePaused(received: 2, input: { EKN_SOCKET_READABLE }) == .end(0))
      #expect(partial.inputWhilePaused(received: 2, input: { EKN_SOCKET_READABLE }) == .wait)
      #expect(chunked.inputWhilePaused(received: 2, input: { EKN_SOCKET_READABLE }) == .wait)
    }

    @Test func endOfTheConnectionEndsAPausedBody() {
      var none = UploadBodyState(length: nil)
      #expect(none.inputWhilePaused(received: 0, input: { EKN_SOCKET_AT_END }) == .end(CurlError.emptyReply))
      var (open, chunked) = (state(200), state(200, isChunked: true))
      #expect(open.inputWhilePaused(received: 5, input: { EKN_SOCKET_AT_END }) == .end(0))
      #expect(chunked.inputWhilePaused(received: 5, input: { EKN_SOCKET_AT_END }) == .end(CurlError.partialBody))
    }
  }
#endif
