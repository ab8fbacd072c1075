import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How requests are matched to recorded responses.
struct ReplayRecordingTests {
  private func request(_ fields: [String: String] = [:], path: String = "x") throws -> HARRequest {
    var request = URLRequest(url: try #require(URL(string: "https://a.example/\(path)")))
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
    return HARRequest(request, redaction: HARRedaction(salt: "salt", hidesSecrets: true))
  }

  /// A recording whose responses have the statuses 200, 201, …
  private func recording(_ requests: [HARRequest]) -> ReplayRecording {
    ReplayRecording(
      requests.enumerated().map { index, request in
        ReplayEntry(
          request: request,
          response: .success(.init(status: 200 + index, reason: "", fields: HeaderFieldList(), pieces: [])))
      })
  }

  private func status(_ outcome: ReplayRecording.Outcome) -> Int? {
    guard case .entry(let entry) = outcome else { return nil }
    return try? entry.response.get().status
  }

  private func reason(_ outcome: ReplayRecording.Outcome) -> ReplaySession.UnexpectedRequest.Reason? {
    guard case .unexpected(let error) = outcome else { return nil }
    return error.reason
  }

  @Test func rangesAndConditionsMustMatch() throws {
    let ranges = try ["bytes=0-1", "bytes=2-3"].map { try request(["Range": $0]) }
    var recording = recording(try ranges + [request()])
    #expect(status(recording.next(ranges[1])) == 201)
    #expect(status(recording.next(try request())) == 202)
    #expect(reason(recording.next(try request(["Range": "bytes=4-5"]))) == .otherFields)
    #expect(reason(recording.next(try request(["If-None-Match": "\"a\""]))) == .otherFields)
    #expect(status(recording.next(ranges[0])) == 200)
    #expect(reason(recording.next(ranges[0])) == .usedUp)
  }

  @Test func recordedFieldsDecideMatch() throws {
    var recording = recording(
      try [request(["X-Tenant": "a", "X-Time": "1"]), request(["X-Tenant": "b", "X-Time": "2"])])
    #expect(status(recording.next(try request(["X-Tenant": "b", "X-Time": "9"]))) == 201)
    #expect(reason(recording.next(try request(["X-Tenant": "b", "X-Time": "9"]))) == .usedUp)
    #expect(status(recording.next(try request(["X-Tenant": "c", "User-Agent": "u"]))) == 200)
  }

  @Test func acceptDecidesMatch() throws {
    var recording = recording(try [request(["Accept": "text/csv"]), request(["Accept": "application/json"])])
    #expect(status(recording.next(try request(["Accept": "application/json"]))) == 201)
    #expect(status(recording.next(try request(["Accept": "*/*"]))) == 200)
  }

  @Test func knownSecretMatchesItself() throws {
    let (one, two) = (try request(["Authorization": "Bearer 1"]), try request(["Authorization": "Bearer 2"]))
    var recording = recording([one, two, one])
    #expect(status(recording.next(two)) == 201)
    #expect(reason(recording.next(two)) == .usedUp)
    #expect(status(recording.next(one)) == 200)
    #expect(status(recording.next(one)) == 202)
  }

  @Test func unknownSecretMatchesOneUserOnly() throws {
    let users = try (1...2).map { try request(["Authorization": "Bearer \($0)"]) }
    let other = try (1...2).map { try request(["Authorization": "Bearer \($0)"], path: "y") }
    var recording = recording(users + other)
    let (anna, boris) = (["Authorization": "Bearer anna"], ["Authorization": "Bearer boris"])
    #expect(status(recording.next(try request(anna))) == 200)
    #expect(status(recording.next(try request(boris))) == 201)
    #expect(status(recording.next(try request(boris, path: "y"))) == 203)
    #expect(status(recording.next(try request(anna, path: "y"))) == 202)
    #expect(reason(recording.next(try request(["Authorization": "Bearer third"], path: "y"))) == .otherCredentials)
  }

  @Test func anonymousRequestGetsNoUserResponse() throws {
    var recording = recording(try [request(), request(["X-Api-Key": "k"])])
    #expect(reason(recording.next(try request(path: "z"))) == .notRecorded)
    #expect(status(recording.next(try request())) == 200)
    #expect(reason(recording.next(try request())) == .usedUp)
    #expect(status(recording.next(try request(["X-Api-Key": "other"]))) == 201)
  }

  @Test func anonymousRequestGetsNoResponseOfRecordingWithoutAny() throws {
    var recording = recording(try [request(["Authorization": "Bearer one"])])
    #expect(reason(recording.next(try request())) == .otherCredentials)
    #expect(status(recording.next(try request(["Authorization": "Bearer test"]))) == 200)
  }

  @Test func cookiesMayBeMissing() throws {
    let (one, two) = (try request(["Cookie": "a=1"]), try request(["Cookie": "a=2"]))
    var recording = recording(try [request(), one, two])
    #expect(status(recording.next(two)) == 202)
    #expect(status(recording.next(try request())) == 200)
    #expect(status(recording.next(try request())) == 201)
  }

  @Test func errorListsUsedEntries() throws {
    var recording = recording(try (0..<30).map { try request(path: "\($0)") })
    _ = recording.next(try request(path: "0"))
    #expect(recording.unused.count == 29)
    guard case .unexpected(let error) = recording.next(try request(path: "a")) else {
      Issue.record("expected an error")
      return
    }
    #expect(error.request == "GET https://a.example/a")
    #expect(error.recorded.count == 30 && error.recorded.first == "GET https://a.example/0 (used)")
    #expect(error.description.hasSuffix("https://a.example/19 and 10 more"))
  }
}
