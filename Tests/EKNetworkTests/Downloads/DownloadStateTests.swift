import Testing

@testable import EKNetwork

struct DownloadStateTests {
  private func head(_ status: Int, _ change: (inout DownloadHead) -> Void = { _ in }) -> DownloadHead {
    var head = DownloadHead(status: status)
    head.entityTag = "\"v1\""
    change(&head)
    return head
  }

  /// A download of 10 bytes of which 4 are there.
  private func interrupted(total: Int64? = 10, _ change: (inout DownloadHead) -> Void = { _ in }) throws
    -> DownloadState
  {
    var state = DownloadState(resource: "r")
    #expect(state.fields.isEmpty)
    #expect(
      state.received(
        head(200) {
          $0.contentLength = total
          change(&$0)
        }) == .write(at: 0))
    try state.wrote(4)
    return state
  }

  private func part(_ range: String, _ change: (inout DownloadHead) -> Void = { _ in }) -> DownloadHead {
    head(206) {
      $0.contentRange = ContentRange(range)
      change(&$0)
    }
  }

  @Test func completeResponseIsWrittenFromTheStart() throws {
    var state = try interrupted()
    try state.wrote(6)
    #expect(state.ended() == .complete)
    #expect(state.length == 10)
    #expect(state.total == 10)
  }

  /// The announced length is that of the encoded body; what is written may be longer or shorter.
  @Test func encodedBodyHasNoKnownLength() throws {
    for count in [3, 25] {
      var state = DownloadState(resource: "r")
      let encoded = head(200) {
        $0.contentLength = 10
        $0.isEncoded = true
      }
      #expect(state.received(encoded) == .write(at: 0))
      try state.wrote(count)
      #expect(state.total == nil && state.ended() == .complete)
    }
  }

  @Test func missingBytesAreRequestedWithIfRange() throws {
    var state = try interrupted()
    #expect(state.isResumable)
    #expect(state.fields == ["Range": "bytes=4-", "If-Range": "\"v1\""])
    #expect(state.received(part("bytes 4-9/10")) == .write(at: 4))
    try state.wrote(6)
    #expect(state.ended() == .complete)
  }

  @Test func newVersionIsWrittenFromTheStart() throws {
    var state = try interrupted()
    #expect(
      state.received(
        head(200) {
          $0.entityTag = "\"v2\""
          $0.contentLength = 3
        }) == .write(at: 0))
    #expect(state.representation?.entityTag == "\"v2\"")
    try state.wrote(3)
    #expect(state.ended() == .complete)
  }

  @Test func mismatchedPartIsDiscarded() throws {
    let bad: [DownloadHead] = [
      part("bytes 3-9/10"), part("bytes 5-9/10"), part("bytes 4-9/11"), part("bytes */10"), part("nonsense"),
      head(206), part("bytes 4-9/10") { $0.entityTag = "\"v2\"" }, part("bytes 4-9/10") { $0.entityTag = nil },
      part("bytes 4-9/10") { $0.entityTag = "W/\"v1\"" }, part("bytes 4-9/10") { $0.isEncoded = true },
    ]
    for head in bad {
      var state = try interrupted()
      #expect(state.received(head) == .startOver, "\(head)")
      state.discarded()
      #expect(state.fields.isEmpty)
    }
  }

  /// RFC 9110 §8.8.1: two resources may have the same tag.
  @Test func responseOfAnotherResourceIsDiscarded() throws {
    for (source, other) in [("a", "b"), ("a", nil), (nil, "b")] as [(String?, String?)] {
      var state = try interrupted { $0.respondingURL = source }
      #expect(state.received(part("bytes 4-9/10") { $0.respondingURL = other }) == .startOver)
      state = try interrupted { $0.respondingURL = source }
      #expect(state.received(part("bytes 4-9/10") { $0.respondingURL = source }) == .write(at: 4))
      // The file is complete, but another resource is requested.
      let held = try #require(state.representation)
      for (responding, action) in [(other, DownloadState.Action.startOver), (source, .complete)] {
        state = DownloadState(resource: "r", held: held, length: 10)
        let response = head(416) {
          $0.contentRange = ContentRange("bytes */10")
          $0.respondingURL = responding
        }
        #expect(state.received(response) == action)
      }
    }
  }

  @Test func shortPartIsContinued() throws {
    var state = try interrupted()
    #expect(state.received(part("bytes 4-5/10")) == .write(at: 4))
    try state.wrote(2)
    #expect(state.ended() == .requestRest)
    #expect(state.fields["Range"] == "bytes=6-")
    #expect(state.received(part("bytes 6-9/*")) == .write(at: 6))
    try state.wrote(4)
    #expect(state.ended() == .complete)
  }

  @Test func partOfUnknownTotalIsNotTheRest() throws {
    var state = try interrupted(total: nil)
    #expect(state.received(part("bytes 4-7/*")) == .write(at: 4))
    try state.wrote(4)
    #expect(state.ended() == .requestRest)
    #expect(state.fields["Range"] == "bytes=8-")
    #expect(state.received(part("bytes 8-9/*")) == .write(at: 8))
    try state.wrote(2)
    #expect(state.ended() == .requestRest)
    #expect(state.received(head(416) { $0.contentRange = ContentRange("bytes */10") }) == .complete)
    var other = try interrupted(total: nil)
    #expect(other.received(part("bytes 4-7/*")) == .write(at: 4))
    try other.wrote(4)
    #expect(other.received(head(416) { $0.contentRange = ContentRange("bytes */20") }) == .startOver)
  }

  /// RFC 9110 §14.4 gives the field no meaning in a 200, but servers send it there.
  @Test(arguments: [
    ("bytes 4-9/10", 6, true), ("bytes 4-9/10", nil, true), ("bytes 0-5/10", 6, true), ("bytes 4-9/*", 6, true),
    ("bytes 4-9/10", 10, false), ("bytes 0-9/10", 10, false), ("bytes 0-9/10", nil, false), ("items 4-9/10", 10, false),
    ("bytes */10", 10, false), ("bytes 0-9/*", 10, false),
  ])
  func partUnderTheStatusOfTheWholeIsNotTheFile(_ range: String, _ length: Int64?, _ isPart: Bool) throws {
    let mislabelled = head(200) {
      $0.contentRange = ContentRange(range)
      $0.contentLength = length
    }
    var state = try interrupted()
    #expect(state.received(mislabelled) == (isPart ? .startOver : .write(at: 0)))
    state.discarded()
    #expect(state.received(mislabelled) == (isPart ? .refuse : .write(at: 0)))
    state = DownloadState(resource: "r", wantsPart: true)
    #expect(state.received(mislabelled) == .write(at: 0))
  }

  @Test func unrequestedPartIsNotTheWhole() {
    for range in ["bytes 0-9/20", "bytes 10-19/20", "bytes 0-9/*", "bytes */10", "nonsense", nil] {
      let content = range.flatMap { ContentRange($0) }
      var state = DownloadState(resource: "r")
      #expect(state.received(head(206) { $0.contentRange = content }) == .refuse, "\(range ?? "none")")
      state = DownloadState(resource: "r", wantsPart: true)
      #expect(state.received(head(206) { $0.contentRange = content }) == .write(at: 0), "\(range ?? "none")")
    }
    var state = DownloadState(resource: "r")
    #expect(state.received(part("bytes 0-9/10")) == .write(at: 0))
  }

  @Test func partBeyondTheTotalIsNotWritten() throws {
    for range in ["bytes 4-10/*", "bytes 4-199/*"] {
      var state = try interrupted()
      #expect(state.received(part(range)) == .startOver, "\(range)")
    }
    var state = try interrupted()
    #expect(state.received(part("bytes 4-9/*")) == .write(at: 4))
  }

  /// The end of a chunked body does not show that all of the part was sent.
  @Test(arguments: [false, true]) func unrequestedWholeHasAKnownLength(wantsPart: Bool) throws {
    for (count, isComplete) in [(5, false), (10, true)] {
      var state = DownloadState(resource: "r", wantsPart: wantsPart)
      #expect(state.received(part("bytes 0-9/10")) == .write(at: 0))
      #expect(state.total == 10)
      try state.wrote(count)
      #expect(state.ended() == (isComplete ? .complete : .fail(.incomplete(received: 5, announced: 10))))
      #expect(!state.isResumable)
    }
    // What is written is the decoded body, whose length is unknown.
    var state = DownloadState(resource: "r", wantsPart: wantsPart)
    #expect(state.received(part("bytes 0-9/10") { $0.isEncoded = true }) == .write(at: 0))
    try state.wrote(25)
    #expect(state.total == nil && state.ended() == .complete)
  }

  @Test func requestedPartHasAKnownLength() throws {
    for (count, isComplete) in [(5, false), (10, true)] {
      var state = DownloadState(resource: "r", wantsPart: true)
      #expect(state.received(part("bytes 10-19/*")) == .write(at: 0))
      try state.wrote(count)
      #expect(state.ended() == (isComplete ? .complete : .fail(.incomplete(received: 5, announced: 10))))
    }
  }

  @Test func wrongLengthsAreErrors() throws {
    var state = try interrupted()
    #expect(throws: DownloadError.incomplete(received: 11, announced: 10)) { try state.wrote(7) }
    let short = try interrupted { $0.entityTag = nil }
    #expect(short.ended() == .fail(.incomplete(received: 4, announced: 10)))
  }

  /// Whatever the framing says, as after a lost connection.
  @Test func shortBodyIsContinued() throws {
    #expect(try interrupted().ended() == .cutShort)
    var part = try interrupted()
    #expect(part.received(self.part("bytes 4-7/10")) == .write(at: 4))
    try part.wrote(3)
    #expect(part.ended() == .cutShort)
    #expect(part.isResumable && part.fields["Range"] == "bytes=7-")
  }

  @Test func endOfUnknownLengthIsComplete() throws {
    let state = try interrupted(total: nil)
    #expect(state.ended() == .complete)
    #expect(state.isResumable)
  }

  @Test func onlyStrongValidatorsAllowResuming() throws {
    #expect(try !interrupted { $0.entityTag = nil }.isResumable)
    #expect(try !interrupted { $0.entityTag = "W/\"v1\"" }.isResumable)
    #expect(try !interrupted { $0.entityTag = "\"" }.isResumable)
    #expect(try !interrupted { $0.acceptsRanges = false }.isResumable)
    #expect(try !interrupted { $0.isEncoded = true }.isResumable)
    func dated(_ modified: String) throws -> DownloadState {
      try interrupted {
        $0.entityTag = nil
        $0.lastModified = modified
        $0.date = "Sun, 06 Nov 1994 08:49:37 GMT"
      }
    }
    #expect(try !dated("Sun, 06 Nov 1994 08:48:38 GMT").isResumable)
    #expect(try !dated("Sun, 06 Nov 1994 08:50:38 GMT").isResumable)
    #expect(try !dated("yesterday").isResumable)
    var state = try dated("Sun, 06 Nov 1994 08:48:37 GMT")
    #expect(state.fields["If-Range"] == "Sun, 06 Nov 1994 08:48:37 GMT")
    let response = part("bytes 4-9/10") {
      $0.entityTag = nil
      $0.lastModified = "Sun, 06 Nov 1994 08:48:37 GMT"
    }
    #expect(state.received(response) == .write(at: 4))
    // RFC 9110 §15.3.7: a part in response to `If-Range` need not repeat the date, but it must not have another one.
    state = try dated("Sun, 06 Nov 1994 08:48:37 GMT")
    #expect(state.received(part("bytes 4-9/10") { $0.entityTag = nil }) == .write(at: 4))
    state = try dated("Sun, 06 Nov 1994 08:48:37 GMT")
    let other = part("bytes 4-9/10") {
      $0.entityTag = nil
      $0.lastModified = "Sun, 06 Nov 1994 08:48:38 GMT"
    }
    #expect(state.received(other) == .startOver)
  }

  @Test func storedDownloadIsResumed() throws {
    let held = try #require(try interrupted().representation)
    #expect(DownloadState(resource: "r", held: held, length: 4).fields["Range"] == "bytes=4-")
    #expect(DownloadState(resource: "other", held: held, length: 4).fields.isEmpty)
    #expect(DownloadState(resource: "r", held: held, length: 11).fields.isEmpty)
    #expect(DownloadState(resource: "r", held: held, length: 0).fields.isEmpty)
    #expect(DownloadState(resource: "r", held: held, length: -1).fields.isEmpty)
  }

  @Test func anotherSignatureIsResumedByTagOnly() throws {
    var state = DownloadState(resource: "r?1", source: "r")
    #expect(state.received(head(200) { $0.contentLength = 10 }) == .write(at: 0))
    var held = try #require(state.representation)
    #expect(DownloadState(resource: "r?2", source: "r", held: held, length: 4).fields["If-Range"] == "\"v1\"")
    #expect(DownloadState(resource: "r?2", source: "s", held: held, length: 4).fields.isEmpty)
    #expect(DownloadState(resource: "r?2", held: held, length: 4).fields.isEmpty)
    held.entityTag = nil
    held.lastModified = "Sun, 06 Nov 1994 08:48:37 GMT"
    #expect(DownloadState(resource: "r?2", source: "r", held: held, length: 4).fields.isEmpty)
    #expect(DownloadState(resource: "r?1", source: "r", held: held, length: 4).fields["Range"] == "bytes=4-")
  }

  /// Representations for two users may have the same date, but not the same tag.
  @Test func downloadOfAnotherUserIsResumedByTagOnly() throws {
    var state = DownloadState(resource: "r", requester: "alice")
    #expect(state.received(head(200) { $0.contentLength = 10 }) == .write(at: 0))
    var held = try #require(state.representation)
    #expect(held.requester == "alice")
    #expect(DownloadState(resource: "r", requester: "bob", held: held, length: 4).fields["If-Range"] == "\"v1\"")
    held.entityTag = nil
    held.lastModified = "Sun, 06 Nov 1994 08:48:37 GMT"
    #expect(DownloadState(resource: "r", requester: "bob", held: held, length: 4).fields.isEmpty)
    #expect(DownloadState(resource: "r", held: held, length: 4).fields.isEmpty)
    #expect(DownloadState(resource: "r", requester: "alice", held: held, length: 4).fields["Range"] == "bytes=4-")
  }

  @Test func overflowingRangesAreNotWritten() throws {
    var state = DownloadState(resource: "r")
    #expect(state.received(part("bytes 0-9223372036854775807/*")) == .refuse)
    state = try interrupted(total: nil)
    #expect(state.received(part("bytes 4-9223372036854775807/*")) == .startOver)
  }

  @Test func completeFileIsRecognizedBy416() throws {
    let held = try #require(try interrupted().representation)
    var state = DownloadState(resource: "r", held: held, length: 10)
    #expect(state.received(head(416) { $0.contentRange = ContentRange("bytes */10") }) == .complete)
    state = DownloadState(resource: "r", held: held, length: 10)
    #expect(state.received(head(416) { $0.contentRange = ContentRange("bytes */12") }) == .startOver)
    state = DownloadState(resource: "r", held: held, length: 4)
    #expect(state.received(head(416) { $0.contentRange = ContentRange("bytes */4") }) == .startOver)
    #expect(state.received(head(416)) == .startOver)
  }

  /// A server that ignores `If-Range` does not send a new version of the same length.
  @Test(arguments: [("\"v1\"", true), (nil, true), ("\"v2\"", false), ("W/\"v1\"", false)])
  func anotherVersionIsNotCompletedBy416(_ tag: String?, _ isComplete: Bool) throws {
    var state = DownloadState(resource: "r", held: try interrupted().representation, length: 10)
    let response = head(416) {
      $0.entityTag = tag
      $0.contentRange = ContentRange("bytes */10")
    }
    #expect(state.received(response) == (isComplete ? .complete : .startOver))
  }

  @Test(arguments: [(37, true), (nil, true), (38, false)])
  func anotherDateIsNotCompletedBy416(_ second: Int?, _ isComplete: Bool) throws {
    let held = try interrupted {
      $0.entityTag = nil
      $0.lastModified = "Sun, 06 Nov 1994 08:48:37 GMT"
      $0.date = "Sun, 06 Nov 1994 08:49:37 GMT"
    }
    var state = DownloadState(resource: "r", held: held.representation, length: 10)
    let response = head(416) {
      $0.entityTag = nil
      $0.lastModified = second.map { "Sun, 06 Nov 1994 08:48:\($0) GMT" }
      $0.contentRange = ContentRange("bytes */10")
    }
    #expect(state.received(response) == (isComplete ? .complete : .startOver))
  }

  @Test func errorStatusesKeepTheDownload() throws {
    for status in [301, 304, 400, 401, 404, 412, 416, 500, 503] {
      var fresh = DownloadState(resource: "r")
      #expect(fresh.received(head(status)) == .refuse)
      guard ![304, 412, 416].contains(status) else { continue }
      var state = try interrupted()
      #expect(state.received(head(status)) == .refuse)
      #expect(state.isResumable)
    }
  }

  /// The request for the whole has no condition.
  @Test(arguments: [304, 412, 416]) func failedConditionStartsOverOnce(_ status: Int) throws {
    var state = try interrupted()
    #expect(state.received(head(status)) == .startOver)
    state.discarded()
    #expect(state.received(head(status)) == .refuse)
  }

  @Test func downloadWithoutBytesIsNotResumable() throws {
    var state = DownloadState(resource: "r")
    #expect(state.received(head(200)) == .write(at: 0))
    #expect(!state.isResumable && state.fields.isEmpty)
    try state.wrote(1)
    #expect(state.isResumable)
  }

  /// The bytes of a server that this client would not trust are not kept, whatever their tag.
  @Test(arguments: [nil, "a"], [nil, "a", "b"]) func otherTrustStartsOver(_ held: String?, _ current: String?) throws {
    var state = DownloadState(resource: "r", requester: "alice", trust: held)
    #expect(state.received(head(200)) == .write(at: 0))
    let note = try JSONEncoder().encode(try #require(state.representation))
    let representation = try JSONDecoder().decode(Representation.self, from: note)
    let resumed = DownloadState(
      resource: "r", requester: "alice", trust: current, held: representation, length: 4)
    #expect(resumed.fields.isEmpty == (held != current))
  }
}
