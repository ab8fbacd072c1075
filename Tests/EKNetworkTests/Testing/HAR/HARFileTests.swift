import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// HAR files of other tools, valid and malformed.
struct HARFileTests {
  private func session(_ entries: String, _ log: String = "") throws -> ReplaySession {
    try ReplaySession(har: Data(#"{"log":{"version":"1.2",\#(log)"entries":[\#(entries)]}}"#.utf8))
  }

  private func entry(
    _ url: String = "https://a.example/x", method: String = "GET", request: String = "", response: String
  ) -> String {
    #"{"request":{"method":"\#(method)","url":"\#(url)"\#(request)},"response":{\#(response)}}"#
  }

  private func get(_ session: ReplaySession, _ url: String = "https://a.example/x") async throws -> Data {
    try await session.data(for: URLRequest(url: try #require(URL(string: url)))).0
  }

  // MARK: - Files of other tools

  @Test func browserFileIsRead() async throws {
    let entries = """
      {"startedDateTime":"2024-01-01T00:00:00.000Z","time":1.5,"_initiator":{"type":"other"},
       "request":{"method":"GET","url":"https://A.example:443/x?q=1&r=%7Ea#top","httpVersion":"h2","cookies":[],
        "headers":[{"name":":authority","value":"a.example"},{"name":"accept","value":"*/*"}],"queryString":[],
        "headersSize":-1,"bodySize":0},
       "response":{"status":200,"statusText":"","httpVersion":"h2","cookies":[],
        "headers":[{"name":":status","value":"200"},{"name":"set-cookie","value":"a=1\\nb=2"},
         {"name":"content-encoding","value":"br"},{"name":"x","value":"y"}],
        "content":{"size":3,"mimeType":"text/plain","text":"AP\\r\\n/+","encoding":"base64"},"redirectURL":"",
        "headersSize":-1,"bodySize":-1,"_transferSize":9,"_error":null},
       "cache":{},"timings":{"send":0,"wait":1,"receive":0.5}}
      """
    let session = try session(entries)
    let url = try #require(URL(string: "https://a.example/x?q=1&r=%7Ea"))
    let (data, response) = try await session.data(for: URLRequest(url: url))
    #expect(data == Data([0, 0xFF, 0xFE]))
    let http = try #require(response as? HTTPURLResponse)
    #expect(http.statusCode == 200 && http.value(forHTTPHeaderField: "X") == "y")
    #expect(http.url == url)
  }

  @Test func byteOrderMarkIsAccepted() async throws {
    let text = #"{"log":{"entries":[\#(entry(response: #""status":204"#))]}}"#
    let session = try ReplaySession(har: Data([0xEF, 0xBB, 0xBF]) + Data(text.utf8))
    #expect(try await get(session).isEmpty)
  }

  @Test func omittedBodyIsIncomplete() async throws {
    let session = try session(
      [#""status":200,"content":{"size":5}"#, #""status":200,"content":{"size":0}"#, #""status":200"#]
        .map { entry(response: $0) }.joined(separator: ","))
    let error = await #expect(throws: ReplaySession.Failure.self) { try await get(session) }
    #expect(error == .incompleteBody("GET https://a.example/x"))
    for _ in 0..<2 { #expect(try await get(session).isEmpty) }
  }

  @Test(arguments: ["-1", "0", "101", "199"])
  func missingFinalResponseFails(status: String) async throws {
    let session = try session(entry(response: #""status":\#(status)"#))
    await #expect(throws: ReplaySession.Failure.self) { try await get(session) }
  }

  @Test func errorOfOtherToolIsReported() async throws {
    let session = try session(entry(response: #""status":0,"_error":"net::ERR_FAILED""#))
    let error = await #expect(throws: ReplaySession.Failure.self) { try await get(session) }
    #expect(error == .recorded("net::ERR_FAILED"))
  }

  @Test func bodiesAreComparedWithoutDigest() async throws {
    let entries = ["1", "2"].map { id in
      entry(
        method: "POST",
        request: #","postData":{"mimeType":"application/json","text":"{\"a\":\#(id),\"b\":0}"}"#,
        response: #""status":200,"content":{"text":"\#(id)"}"#)
    }
    let session = try session(entries.joined(separator: ","))
    for (body, text) in [(#"{"b":0, "a":2}"#, "2"), (#"{"a":1,"b":0}"#, "1")] {
      var request = URLRequest(url: try #require(URL(string: "https://a.example/x")))
      request.httpMethod = "POST"
      request.setValue("application/json; charset=utf-8", forHTTPHeaderField: "Content-Type")
      request.httpBody = Data(body.utf8)
      #expect(try await session.data(for: request).0 == Data(text.utf8))
    }
  }

  // MARK: - Hostile files

  @Test(
    arguments: [
      "", "{", "[]", "null", "{}", #"{"log":1}"#, #"{"log":{}}"#, #"{"log":{"entries":{}}}"#, "\u{0}",
      #"{"log":{"entries":[],"_redaction":{"salt":1,"hidesSecrets":true}}}"#,
    ])
  func nonHARFileIsRejected(text: String) {
    let error = #expect(throws: HARError.self) { try ReplaySession(har: Data(text.utf8)) }
    guard case .notHAR? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  /// If no entry can be replayed.
  @Test(arguments: ["1e99", "200.5", "99999999999999999999", "-1e999"]) func invalidNumberIsRejected(_ number: String) {
    #expect(throws: HARError.self) { try session(entry(response: #""status":\#(number)"#)) }
  }

  @Test func deepNestingAndBinaryAreRejected() {
    let deep = String(repeating: "[", count: 100_000)
    for data in [Data(deep.utf8), Data(#"{"log":{"entries":\#(deep)"#.utf8), Data.noise(10_000)] {
      #expect(throws: HARError.self) { try ReplaySession(har: data) }
    }
  }

  @Test(
    arguments: [
      "{}", "1", "null", #"{"request":{"method":"GET","url":"https://a.example/x"}}"#,
      #"{"request":{"method":1,"url":"https://a.example/x"},"response":{"status":200}}"#,
      #"{"request":{"method":"GET","url":""},"response":{"status":200}}"#,
      #"{"request":{"method":"GET","url":"x"},"response":{"status":200}}"#,
      #"{"request":{"method":"GET","url":"https://a/x"},"response":{"status":1000}}"#,
      #"{"request":{"method":"GET","url":"https://a/x"},"response":{"status":"200"}}"#,
      #"{"request":{"method":"GET","url":"https://a/x"},"response":{"status":200,"content":{"text":"!","encoding":"base64"}}}"#,
      #"{"request":{"method":"GET","url":"https://a/x"},"response":{"status":200,"content":{"text":"ab","_pieces":[-1]}}}"#,
      #"{"request":{"method":"GET","url":"https://a/x"},"response":{"status":200,"content":{"text":"ab","_pieces":[1,2]}}}"#,
      #"{"request":{"method":"GET","url":"https://a/x"},"response":{"status":200,"content":{"text":"ab","_pieces":[9223372036854775807,9223372036854775807]}}}"#,
      #"{"request":{"method":"GET","url":"https://a/x","postData":{"text":"!","_encoding":"base64"}},"response":{}}"#,
    ])
  func invalidEntryIsSkippedAndNamed(text: String) async throws {
    let good = entry(response: #""status":200"#)
    let session = try session("\(good),\(text),\(good)")
    for _ in 0..<2 { #expect(try await get(session).isEmpty) }
    guard case .invalidEntry(1, _)? = session.skippedEntries.first, session.skippedEntries.count == 1 else {
      Issue.record("\(session.skippedEntries)")
      return
    }
    let skipped = try #require(session.skippedEntries.first)
    #expect(skipped.errorDescription?.hasPrefix("Entry 1 of the HAR file is invalid: ") == true)
    #expect(throws: HARError.invalidEntry(0, reason: skipped.reason)) { try self.session(text) }
  }

  /// Entries that tools write, and that can be replayed nevertheless.
  @Test(arguments: [
    #""status":200,"statusText":null"#, #""status":200,"statusText":"\u0001""#, #""status":200,"statusText":200"#,
    #""status":200,"headers":[{"name":"A","value":null},{"name":"B"},{"value":"c"},{"name":"D","value":1}]"#,
    #""status":200,"content":{"size":0}"#, #""status":200,"content":{"mimeType":"x"},"bodySize":-1"#,
    #""status":204,"content":{"size":-1}"#, #""status":304,"content":{"size":-1},"bodySize":-1"#,
    #""status":200,"content":{"size":-1,"text":""}"#,
  ])
  func oddEntryIsKept(_ response: String) async throws {
    let session = try session(entry(response: response))
    #expect(try await get(session).isEmpty)
    #expect(session.skippedEntries == [])
  }

  /// Whose body is unknown, or was not received completely.
  @Test(
    arguments: [
      (#""status":200,"content":{"size":-1}"#, nil), (#""status":200,"content":{"size":-1},"bodySize":-1"#, nil),
      (#""status":200,"content":{"size":0},"bodySize":5"#, nil), (#""status":200,"bodySize":5"#, nil),
      (#""status":200,"content":{"size":0},"_error":"net::ERR_ABORTED""#, "net::ERR_ABORTED"),
      (#""status":200,"content":{"size":0},"_failureText":"net::ERR_ABORTED""#, "net::ERR_ABORTED"),
      (#""status":200,"content":{"size":0}},"_wasAborted":true,"x":{"#, "aborted"),
      (#""status":-1,"content":{"size":-1},"_failureText":"net::ERR_ABORTED""#, "net::ERR_ABORTED"),
    ] as [(String, String?)])
  func responseWithoutItsBodyFails(_ response: String, _ failure: String?) async throws {
    let session = try session(entry(response: response))
    let error = await #expect(throws: ReplaySession.Failure.self) { try await get(session) }
    #expect(error == failure.map { .recorded($0) } ?? .incompleteBody("GET https://a.example/x"))
  }

  @Test func corruptedFileGivesTypedErrorOrReplay() async throws {
    let good = Data(
      #"""
      {"log":{"_redaction":{"salt":"s","hidesSecrets":true},"entries":[{"request":{"method":"GET",
      "url":"https://a.example/x","headers":[{"name":"A","value":"b"}],"_fingerprints":{"cookie":"0"}},
      "response":{"status":302,"statusText":"Found","headers":[{"name":"Location","value":"/x?a=redacted-0123456789abcdef"}],
      "content":{"size":3,"text":"AAEC","encoding":"base64","_pieces":[1,2]},"_error":"URLError -1001"}}]}}
      """#.utf8)
    _ = try ReplaySession(har: good)
    let bytes = Data.noise(6000)
    var read = 0
    for round in 0..<2000 {
      var data = good
      let (place, kind, value) = (bytes[round * 3], bytes[round * 3 + 1], bytes[round * 3 + 2])
      let index = (Int(place) * 256 + Int(kind)) % data.count
      switch kind % 4 {
      case 0: data[index] = value
      case 1: data.remove(at: index)
      case 2: data = data.prefix(index)
      default: data.insert(contentsOf: good.suffix(Int(value)), at: index)
      }
      do throws(HARError) {
        let session = try ReplaySession(har: data)
        read += 1
        _ = try? await get(session)
      } catch {
        #expect(error.errorDescription?.isEmpty == false)
      }
    }
    #expect(read > 100)
  }

  @Test func invalidFieldsAreDropped() async throws {
    let session = try session(
      entry(
        response: #"""
          "status":200,"statusText":"a\r\nX: b","headers":[{"name":"a b","value":"c"},{"name":"","value":"c"},
          {"name":"D","value":"e\r\nF: g"},{"name":"H","value":"i\u0000"},{"name":"J","value":"k"}]
          """#))
    let url = try #require(URL(string: "https://a.example/x"))
    let response = try await session.data(for: URLRequest(url: url)).1 as? HTTPURLResponse
    #expect(response?.allHeaderFields.keys.map { "\($0)" }.sorted() == ["J"])
  }

  @Test func tooLargeOrMissingFileIsRejected() throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a.har", Data(#"{"log":{"entries":[]}}"#.utf8))
    #expect(throws: HARError.tooLarge(limit: 10)) { try ReplaySession(contentsOf: file, maximumSize: 10) }
    #expect(throws: HARError.tooLarge(limit: -1)) { try ReplaySession(har: Data(), maximumSize: -1) }
    _ = try ReplaySession(contentsOf: file, maximumSize: 22)
    _ = try ReplaySession(contentsOf: file, maximumSize: .max)
    let elsewhere = try #require(URL(string: "https://a.example\(file.path)"))
    for url in [folder["missing"], folder.url, elsewhere] {
      let error = #expect(throws: HARError.self) { try ReplaySession(contentsOf: url) }
      guard case .notReadable(url, _)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func longSaltIsRejected() {
    let salt = String(repeating: "a", count: 129)
    #expect(throws: HARError.notHAR(reason: "log._redaction.salt is too long")) {
      try session("", #""_redaction":{"salt":"\#(salt)","hidesSecrets":true},"#)
    }
  }
}

extension HARError {
  fileprivate var reason: String {
    if case .invalidEntry(_, let reason) = self { reason } else { "" }
  }
}
