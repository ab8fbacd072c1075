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

  private func status(_ entry: @autoclosure () throws -> ReplayEntry) -> Int? { try? entry().response.get().status }

  private func reason(
    _ entry: @autoclosure () throws -> ReplayEntry
  ) -> ReplaySession.UnexpectedRequest.Reason? {
    do { _ = try entry() } catch { return (error as? ReplaySession.UnexpectedRequest)?.reason }
    return nil
  }

  @Test func rangesAndConditionsMustMatch() throws {
    let ranges = try ["bytes=0-1", "bytes=2-3"].map { try request(["Range": $0]) }
    var recording = recording(try ranges + [request()])
    #expect(status(try recording.next(ranges[1])) == 201)
    #expect(status(try recording.next(request())) == 202)
    #expect(reason(try recording.next(request(["Range": "bytes=4-5"]))) == .otherFields)
    #expect(reason(try recording.next(request(["If-None-Match": "\"a\""]))) == .otherFields)
    #expect(status(try recording.next(ranges[0])) == 200)
    #expect(reason(try recording.next(ranges[0])) == .usedUp)
  }

  @Test func recordedFieldsDecideMatch() throws {
    var recording = recording(
      try [request(["X-Tenant": "a", "X-Time": "1"]), request(["X-Tenant": "b", "X-Time": "2"])])
    #expect(status(try recording.next(request(["X-Tenant": "b", "X-Time": "9"]))) == 201)
    #expect(reason(try recording.next(request(["X-Tenant": "b", "X-Time": "9"]))) == .usedUp)
    #expect(status(try recording.next(request(["X-Tenant": "c", "User-Agent": "u"]))) == 200)
  }

  @Test func acceptDecidesMatch() throws {
    var recording = recording(try [request(["Accept": "text/csv"]), request(["Accept": "application/json"])])
    #expect(status(try recording.next(request(["Accept": "application/json"]))) == 201)
    #expect(status(try recording.next(request(["Accept": "*/*"]))) == 200)
  }

  @Test func knownSecretMatchesItself() throws {
    let (one, two) = (try request(["Authorization": "Bearer 1"]), try request(["Authorization": "Bearer 2"]))
    var recording = recording([one, two, one])
    #expect(status(try recording.next(two)) == 201)
    #expect(reason(try recording.next(two)) == .usedUp)
    #expect(status(try recording.next(one)) == 200)
    #expect(status(try recording.next(one)) == 202)
  }

  @Test func unknownSecretMatchesOneUserOnly() throws {
    let users = try (1...2).map { try request(["Authorization": "Bearer \($0)"]) }
    let other = try (1...2).map { try request(["Authorization": "Bearer \($0)"], path: "y") }
    var recording = recording(users + other)
    let (anna, boris) = (["Authorization": "Bearer anna"], ["Authorization": "Bearer boris"])
    #expect(status(try recording.next(request(anna))) == 200)
    #expect(status(try recording.next(request(boris))) == 201)
    #expect(status(try recording.next(request(boris, path: "y"))) == 203)
    #expect(status(try recording.next(request(anna, path: "y"))) == 202)
    #expect(reason(try recording.next(request(["Authorization": "Bearer third"], path: "y"))) == .otherCredentials)
  }

  @Test func anonymousRequestGetsNoUserResponse() throws {
    var recording = recording(try [request(), request(["X-Api-Key": "k"])])
    #expect(reason(try recording.next(request(path: "z"))) == .notRecorded)
    #expect(status(try recording.next(request())) == 200)
    #expect(reason(try recording.next(request())) == .usedUp)
    #expect(status(try recording.next(request(["X-Api-Key": "other"]))) == 201)
  }

  @Test func anonymousRequestGetsNoResponseOfRecordingWithoutAny() throws {
    var recording = recording(try [request(["Authorization": "Bearer one"])])
    #expect(reason(try recording.next(request())) == .otherCredentials)
    #expect(status(try recording.next(request(["Authorization": "Bearer test"]))) == 200)
  }

  @Test func cookiesMayBeMissing() throws {
    let (one, two) = (try request(["Cookie": "a=1"]), try request(["Cookie": "a=2"]))
    var recording = recording(try [request(), one, two])
    #expect(status(try recording.next(two)) == 202)
    #expect(status(try recording.next(request())) == 200)
    #expect(status(try recording.next(request())) == 201)
  }

  @Test func errorListsUsedEntries() throws {
    var recording = recording(try (0..<30).map { try request(path: "\($0)") })
    _ = try recording.next(request(path: "0"))
    #expect(recording.unused.count == 29)
    let unknown = try request(path: "a")
    let error = try #require(throws: ReplaySession.UnexpectedRequest.self) { try recording.next(unknown) }
    #expect(error.request == "GET https://a.example/a")
    #expect(error.recorded.count == 30 && error.recorded.first == "GET https://a.example/0 (used)")
    #expect(error.description.hasSuffix("https://a.example/19 and 10 more"))
  }
}
