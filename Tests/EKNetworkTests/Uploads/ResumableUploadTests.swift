import Foundation
import Testing

@testable import EKNetwork

struct ResumableUploadTests {
  typealias Kind = UploadOptions.ResumptionProtocol

  private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

  private func head(
    _ status: Int, offset: Int64? = nil, complete: Bool? = nil, location: String? = nil, limits: String? = nil
  ) -> UploadHead {
    var head = UploadHead(status: status)
    head.offset = offset
    head.isComplete = complete
    head.location = location
    head.limits = limits.flatMap(UploadLimits.init) ?? UploadLimits()
    return head
  }

  private func expect<Value: Equatable>(
    _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(value == expected, sourceLocation: sourceLocation)
  }

  private func part(_ offset: Int64, _ length: Int64, isLast: Bool) -> ResumableUpload.Action {
    .append(UploadPart(offset: offset, length: length, isLast: isLast))
  }

  private func created(_ kind: Kind, size: Int64, chunk: Int64? = nil) throws -> ResumableUpload {
    var upload = ResumableUpload(kind, to: try url("https://a.example/files"), size: size, chunkSize: chunk)
    expect(upload.begin(), .create)
    _ = upload.received(head(201, location: "/files/1"))
    #expect(upload.resource?.url.absoluteString == "https://a.example/files/1")
    return upload
  }

  @Test func draftIsUploadedInParts() throws {
    var upload = ResumableUpload(.draft, to: try url("https://a.example/files"), size: 10, chunkSize: 4)
    expect(upload.begin(), .create)
    expect(upload.received(head(201, location: "1")), part(0, 4, isLast: false))
    expect(upload.received(head(204, complete: false)), part(4, 4, isLast: false))
    expect(upload.received(head(204, offset: 8, complete: false)), part(8, 2, isLast: true))
    expect(upload.takeAdvance(), true)
    expect(upload.takeAdvance(), false)
    expect(upload.received(head(200, complete: true)), .complete)
  }

  @Test func tusIsCompleteWithItsLastByte() throws {
    var upload = try created(.tus, size: 10)
    expect(upload.received(head(204, offset: 7)), part(7, 3, isLast: true))
    expect(upload.received(head(204, offset: 10)), .complete)
  }

  @Test func emptyFileIsComplete() throws {
    var tus = ResumableUpload(.tus, to: try url("https://a.example/"), size: 0)
    _ = tus.begin()
    expect(tus.received(head(201, location: "1")), .complete)
    var draft = ResumableUpload(.draft, to: try url("https://a.example/"), size: 0)
    _ = draft.begin()
    expect(draft.received(head(201, location: "1")), part(0, 0, isLast: true))
    expect(draft.received(head(200, complete: true)), .complete)
  }

  @Test(arguments: Kind.allCases)
  func attemptAfterAnInterruptionAsksForTheOffset(_ kind: Kind) throws {
    var upload = try created(kind, size: 10)
    upload.interrupted(sent: 5)
    expect(upload.begin(), .requestOffset)
    expect(upload.received(head(200, offset: 3, complete: false)), part(3, 7, isLast: true))
    expect(upload.takeAdvance(), true)
    upload.interrupted(sent: 0)
    expect(upload.begin(), .requestOffset)
    expect(upload.received(head(200, offset: 3, complete: false)), part(3, 7, isLast: true))
    expect(upload.takeAdvance(), false)
  }

  @Test(arguments: Kind.allCases)
  func lostUploadIsCreatedAgainTwice(_ kind: Kind) throws {
    var upload = try created(kind, size: 10)
    for _ in 0..<2 {
      expect(upload.received(head(404)), .create)
      expect(upload.received(head(201, location: "/files/1")), part(0, 10, isLast: true))
    }
    expect(upload.received(head(410)), .fail(.uploadLost))
  }

  @Test func acknowledgedFileThatIsGoneMayBeComplete() throws {
    var upload = try created(.draft, size: 10)
    expect(upload.received(head(200)), .requestOffset)
    expect(upload.received(head(204, offset: 10, complete: false)), part(10, 0, isLast: true))
    expect(upload.received(head(410)), .fail(.outcomeUnknown))
  }

  /// The response of an intermediary, or of the target of a redirect, does not say whether the upload is complete.
  @Test func lastPartWithUnclearResponseMayBeComplete() throws {
    var upload = try created(.draft, size: 10)
    expect(upload.received(head(200)), .requestOffset)
    expect(upload.received(head(404)), .fail(.outcomeUnknown))
    upload = try created(.draft, size: 10)
    expect(upload.received(head(204, complete: false)), .requestOffset)
    expect(upload.received(head(404)), .create)
  }

  @Test(arguments: Kind.allCases)
  func uploadOfAnEarlierCallMayBeComplete(_ kind: Kind) throws {
    let resource = try created(kind, size: 10).resource
    let earlier = ResumableUpload(
      kind, to: try url("https://a.example/files"), size: 10, resource: resource, mayBeComplete: true)
    var upload = earlier
    expect(upload.begin(), .requestOffset)
    expect(upload.received(head(404)), .fail(.outcomeUnknown))
    upload = earlier
    expect(upload.begin(), .requestOffset)
    expect(upload.received(head(200, offset: 3, complete: false)), part(3, 7, isLast: true))
    upload.interrupted(sent: 6)
    expect(upload.mayBeComplete, false)
    // How much was sent is unknown.
    upload.interrupted(sent: nil)
    expect(upload.mayBeComplete, true)
  }

  @Test func conflictsEnd() throws {
    var upload = try created(.tus, size: 10)
    for _ in 0..<ResumableUpload.maximumIdleRequests {
      expect(upload.received(head(409)), .requestOffset)
      expect(upload.received(head(200, offset: 0)), part(0, 10, isLast: true))
    }
    expect(upload.received(head(409)), .refuse(isFinal: false))
  }

  @Test func partsAreWithinTheLimitsOfTheServer() throws {
    var upload = ResumableUpload(.draft, to: try url("https://a.example/"), size: 100, chunkSize: 1)
    _ = upload.begin()
    expect(
      upload.received(head(201, location: "1", limits: "min-append-size=20, max-append-size=60")),
      part(0, 20, isLast: false))
    expect(upload.received(head(413, limits: "max-append-size=10")), part(0, 10, isLast: false))
  }

  /// Whatever a server says, the upload ends, and parts are within the file.
  @Test(arguments: Kind.allCases)
  func everySequenceOfResponsesEnds(_ kind: Kind) throws {
    var random = SplitMix(state: 7)
    for _ in 0..<2_000 {
      var upload = ResumableUpload(kind, to: try url("https://a.example/"), size: 20, chunkSize: 6)
      var action = upload.begin()
      var requests = 0
      loop: while true {
        switch action {
        case .complete, .refuse, .fail: break loop
        case .append(let part):
          #expect(part.offset >= 0 && part.end <= 20 && part.isLast == (part.end == 20))
        case .create, .requestOffset: break
        }
        requests += 1
        guard requests < 500 else {
          Issue.record("endless")
          return
        }
        let status = [200, 201, 204, 404, 409, 410, 413][Int(random.next() % 7)]
        let offset = [nil, 0, 1, upload.acknowledged, upload.acknowledged + 1, 20, 21][Int(random.next() % 7)]
        let complete = [nil, false, true][Int(random.next() % 3)]
        let limits = [nil, nil, "max-append-size=3", "max-append-size=0"][Int(random.next() % 4)]
        action = upload.received(head(status, offset: offset, complete: complete, location: "1", limits: limits))
      }
    }
  }

  @Test(arguments: [
    ("/b", false), ("https://A.example:443/b", false), ("https://b.example/", true), ("//a.example:444/b", true),
  ])
  func locationOfOtherOrigin(_ location: String, isOther: Bool) throws {
    let own = try url("https://user:secret@a.example/files")
    let resource = try #require(UploadResource(head(201, location: location), requested: own))
    #expect(resource.isOfOtherOrigin == isOther)
    #expect(!resource.url.absoluteString.contains("secret"))
  }

  @Test(arguments: [nil, "", "http://a.example/b", "ftp://a.example/", "https:///b", "javascript:1", "https://[a/"])
  func locationThatCannotBeUsed(_ location: String?) throws {
    #expect(UploadResource(head(201, location: location), requested: try url("https://a.example/")) == nil)
  }

  @Test func redirectedCreationIsOfOtherOrigin() throws {
    var redirected = head(201, location: "https://a.example/b")
    redirected.isFromOtherOrigin = true
    #expect(UploadResource(redirected, requested: try url("https://a.example/"))?.isOfOtherOrigin == true)
    redirected.isFromOtherOrigin = false
    redirected.url = try url("https://b.example/")
    #expect(UploadResource(redirected, requested: try url("https://a.example/"))?.isOfOtherOrigin == true)
  }

  @Test(
    arguments: [
      ("0", 0), ("12;a=1", 12), (" 7 ", 7), ("-1", nil), ("+1", nil), ("1.0", nil), ("", nil), ("1 2", nil),
      ("9999999999999999999", nil), ("٣", nil),
    ] as [(String, Int64?)])
  func integers(_ text: String, value: Int64?) { #expect(UploadHead.integer(text) == value) }

  @Test(arguments: [("?1", true), ("?0;x", false), ("1", nil), ("true", nil), ("?2", nil)] as [(String, Bool?)])
  func booleans(_ text: String, value: Bool?) { #expect(UploadHead.boolean(text) == value) }

  @Test func limitOfWrongTypeIsIgnored() {
    #expect(UploadLimits("max-size=5, unknown=?1, max-append-size=3;p")?.maximumPart == 3)
    #expect(UploadLimits("max-size=5, max-append-size=\"3\"") == nil)
    #expect(UploadLimits("max-size") == nil)
  }
}
