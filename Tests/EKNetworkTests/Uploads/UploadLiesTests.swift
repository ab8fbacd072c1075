import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Servers that do not keep to the protocol: each lie ends with its error, after a bounded number of requests.
struct UploadLiesTests {
  typealias Kind = UploadOptions.ResumptionProtocol

  struct Lie: CustomTestStringConvertible, Sendable {
    var name: String
    var kind: Kind
    /// Replaces the response to requests of these methods.
    var responses: [String: LoopbackServer.Response]
    var error: UploadError
    var requests: Int

    var testDescription: String { "\(name), \(kind)" }

    init(
      _ name: String, _ kind: Kind, _ responses: [String: LoopbackServer.Response], _ error: UploadError, requests: Int
    ) {
      (self.name, self.kind, self.responses, self.error, self.requests) = (name, kind, responses, error, requests)
    }
  }

  private static func offset(_ value: String, status: Int = 204, complete: String? = nil) -> LoopbackServer.Response {
    let response = LoopbackServer.Response.status(status).header("Upload-Offset", value)
    return complete.map { response.header("Upload-Complete", $0) } ?? response
  }

  private static func created(_ location: String) -> LoopbackServer.Response {
    .status(201, headers: ["Location": location])
  }

  private static func invalid(_ offset: Int64, acknowledged: Int64 = 0) -> UploadError {
    .invalidOffset(offset, acknowledged: acknowledged, size: 1_000)
  }

  static let lies: [Lie] = Kind.allCases.flatMap { liesOfBoth($0) } + liesOfOne

  private static func liesOfBoth(_ kind: Kind) -> [Lie] {
    [
      Lie("no location", kind, ["POST": .status(201)], .invalidLocation(nil), requests: 1),
      Lie("empty location", kind, ["POST": created("")], .invalidLocation(nil), requests: 1),
      Lie(
        "file location", kind, ["POST": created("file:///etc/passwd")], .invalidLocation("file:///etc/passwd"),
        requests: 1),
      Lie("broken location", kind, ["POST": created("http://[/")], .invalidLocation("http://[/"), requests: 1),
      Lie("offset beyond the file", kind, ["PATCH": offset("1001", complete: "?0")], invalid(1_001), requests: 2),
      Lie(
        "huge offset", kind, ["PATCH": offset("999999999999999999", complete: "?0")], invalid(999_999_999_999_999_999),
        requests: 2),
      Lie("no progress", kind, ["PATCH": offset("0", complete: "?0")], .noProgress(offset: 0), requests: 8),
      Lie("lost for ever", kind, ["PATCH": .status(404)], .uploadLost, requests: 6),
      Lie("gone for ever", kind, ["PATCH": .status(410)], .uploadLost, requests: 6),
      Lie("too large", kind, ["POST": .status(413)], .tooLarge(size: 1_000, maximum: nil), requests: 1),
      Lie("part too large", kind, ["PATCH": .status(413)], .tooLarge(size: 1_000, maximum: nil), requests: 2),
      Lie(
        "no part is small enough", kind, ["PATCH": .status(413, headers: ["Upload-Limit": "max-append-size=0"])],
        .tooLarge(size: 1_000, maximum: 0), requests: 2),
    ]
  }

  private static let liesOfOne: [Lie] = [
    Lie("no offset", .tus, ["PATCH": .status(204)], .missingOffset, requests: 2),
    Lie("negative offset", .tus, ["PATCH": offset("-1")], .missingOffset, requests: 2),
    Lie("text as offset", .tus, ["PATCH": offset("ten")], .missingOffset, requests: 2),
    Lie("overflowing offset", .tus, ["PATCH": offset("99999999999999999999")], .missingOffset, requests: 2),
    Lie(
      "other version", .tus, ["POST": .status(412, headers: ["Tus-Version": "0.2.2"])],
      .unsupportedVersion(supported: "0.2.2"), requests: 1),
    Lie(
      "complete at creation", .draft, ["POST": created("/files/1").header("Upload-Complete", "?1")],
      .lengthMismatch(announced: 0, size: 1_000), requests: 1),
    Lie(
      "complete with other offset", .draft, ["PATCH": offset("10", complete: "?1")],
      .lengthMismatch(announced: 10, size: 1_000), requests: 2),
    Lie(
      "complete in HEAD without the file", .draft, ["PATCH": .status(204), "HEAD": offset("3", complete: "?1")],
      .lengthMismatch(announced: 3, size: 1_000), requests: 3),
    Lie("HEAD without offset", .draft, ["PATCH": .status(204), "HEAD": .status(204)], .missingOffset, requests: 3),
    Lie(
      "HEAD beyond the file", .draft, ["PATCH": .status(204), "HEAD": offset("1001", complete: "?0")], invalid(1_001),
      requests: 3),
    Lie(
      "HEAD with other length", .draft,
      ["PATCH": .status(204), "HEAD": offset("0", complete: "?0").header("Upload-Length", "999")],
      .lengthMismatch(announced: 999, size: 1_000), requests: 3),
    Lie(
      "limit below the size", .draft, ["POST": created("/files/1").header("Upload-Limit", "max-size=999")],
      .tooLarge(size: 1_000, maximum: 999), requests: 1),
  ]

  @Test(arguments: lies)
  func lieIsAnError(_ lie: Lie) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(lie.kind)
    server.state.withLock { state in state.override = { lie.responses[$0.method] } }
    let request = CreateUpload(retryPolicy: .immediate(5))
    await #expect(throws: lie.error) {
      try await Wire.automatic.manager(server.server).upload(
        request, fromFile: file, options: UploadOptions(using: lie.kind, state: folder["state"]))
    }
    #expect(server.server.requestCount == lie.requests)
    // What cannot be continued is not in the way of the next call.
    #expect(folder.names == ["a"])
  }

  /// An offset below what was acknowledged is a loss of data (draft §4.1.1).
  @Test(arguments: Kind.allCases)
  func offsetMustNotGoBackwards(_ kind: Kind) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(kind)
    let patches = Locked(0)
    server.state.withLock {
      $0.override = { request in
        if request.method == "HEAD" { return Self.offset("100", complete: "?0") }
        guard request.method == "PATCH" else { return nil }
        let number = patches.withLock { count in
          count += 1
          return count
        }
        return number == 1 ? Self.offset("400", complete: "?0") : .status(500)
      }
    }
    let options = UploadOptions(using: kind, chunkSize: 400)
    await #expect(throws: Self.invalid(100, acknowledged: 400)) {
      try await Wire.automatic.manager(server.server).upload(
        CreateUpload(retryPolicy: .immediate(5)), fromFile: file, options: options)
    }
    #expect(server.methods == ["POST", "PATCH", "PATCH", "HEAD"])
  }

  @Test(arguments: [409, 500])
  func statusIsLeftToThePolicy(_ status: Int) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(.tus)
    server.state.withLock { state in
      state.override = { $0.method == "PATCH" ? .status(status, headers: ["Upload-Offset": "0"]) : nil }
    }
    let error = await #expect(throws: HTTPError.self) {
      try await Wire.automatic.manager(server.server).upload(
        CreateUpload(retryPolicy: .immediate(1)), fromFile: file, options: UploadOptions(using: .tus))
    }
    #expect(error?.statusCode == status)
    #expect(server.server.requestCount < 20)
  }

  private static var transientFailures: RetryPolicy {
    RetryPolicy(maxRetryCount: 2, delay: 0, shouldRetry: RetryPolicy.isTransient)
  }

  /// Responds with 423 to the first requests of an upload.
  private func lock(_ server: UploadServer, for count: Int) {
    let left = Locked(count)
    server.state.withLock { state in
      state.override = { request in
        guard request.method != "POST" else { return nil }
        let isLocked = left.withLock { left in
          left -= 1
          return left >= 0
        }
        return isLocked ? .status(423) : nil
      }
    }
  }

  /// Another request of the upload may hold the lock for a while, such as one whose connection was lost.
  @Test(arguments: Kind.allCases)
  func lockedUploadIsTriedAgain(_ kind: Kind) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(kind)
    lock(server, for: 2)
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    let delays = Locked<[Duration]>([])
    manager.eventHandler = { event in
      if case .retrying(_, let delay, _) = event.kind { delays.withLock { $0.append(delay) } }
    }
    let uploaded = try await manager.upload(
      CreateUpload(retryPolicy: Self.transientFailures), fromFile: file, options: UploadOptions(using: kind))
    #expect(uploaded.size == 1_000)
    #expect(server.methods == ["POST", "PATCH", "HEAD", "HEAD", "PATCH"])
    #expect(delays.withLock { $0 } == [.seconds(1), .seconds(1)])
  }

  /// What the server has is known from the response after the lock.
  @Test(arguments: Kind.allCases)
  func lockedUploadIsResumed(_ kind: Kind) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(300_000))
    let server = try UploadServer(kind)
    server.state.withLock { $0.cuts = [100_000] }
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    let options = UploadOptions(using: kind, state: folder["state"])
    await #expect(throws: URLError.self) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options)
    }
    lock(server, for: 1)
    let result = try await manager.upload(
      CreateUpload(retryPolicy: Self.transientFailures), fromFile: file, options: options)
    #expect((99_000...100_000).contains(result.resumedBytes))
    #expect(server.methods == ["POST", "PATCH", "HEAD", "HEAD", "PATCH"])
  }

  @Test func lockedUploadIsTriedAgainWithinTheLimit() async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(.tus)
    lock(server, for: .max)
    let error = await #expect(throws: HTTPError.self) {
      try await Wire.automatic.manager(server.server, clock: RecordingClock()).upload(
        CreateUpload(retryPolicy: Self.transientFailures), fromFile: file, options: UploadOptions(using: .tus))
    }
    #expect(error?.statusCode == 423)
    #expect(server.methods == ["POST", "PATCH", "HEAD", "HEAD"])
  }

  /// The lock of a folder, for example, is no matter of an upload.
  @Test func lockedCreationIsLeftToThePolicy() async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(.tus)
    server.state.withLock { state in state.override = { _ in .status(423) } }
    await #expect(throws: HTTPError.self) {
      try await Wire.automatic.manager(server.server, clock: RecordingClock()).upload(
        CreateUpload(retryPolicy: Self.transientFailures), fromFile: file, options: UploadOptions(using: .tus))
    }
    #expect(server.methods == ["POST"])
  }

  @Test func processingErrorIsFinal() async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(.draft)
    server.state.withLock { state in
      state.override = { $0.method == "PATCH" ? .status(500, headers: ["Upload-Complete": "?1"]) : nil }
    }
    let error = await #expect(throws: HTTPError.self) {
      try await Wire.automatic.manager(server.server).upload(
        CreateUpload(retryPolicy: .immediate(5)), fromFile: file,
        options: UploadOptions(using: .draft, state: folder["state"]))
    }
    #expect(error?.statusCode == 500)
    #expect(server.methods == ["POST", "PATCH"])
    #expect(folder.names == ["a"])
  }

  @Test func limitsOfTheServerAreRespected() async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try UploadServer(.draft)
    server.state.withLock { $0.limits = "max-append-size=300, min-append-size=50, other=?1, max-size=1000" }
    try await Wire.automatic.manager(server.server).upload(
      CreateUpload(), fromFile: file, options: UploadOptions(using: .draft))
    #expect(server.server.requests.map(\.body.count) == [0, 300, 300, 300, 100])
    #expect(server.data == Data.noise(1_000))
  }

  /// Once everything was sent, an upload that is gone may have been completed: it is not sent again.
  @Test(arguments: Kind.allCases)
  func lostUploadIsNotRepeatedOnceAllWasSent(_ kind: Kind) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try Self.forgettingServer(kind)
    await #expect(throws: UploadError.outcomeUnknown) {
      try await Wire.automatic.manager(server.server).upload(
        CreateUpload(retryPolicy: .immediate(5)), fromFile: file, options: UploadOptions(using: kind))
    }
    #expect(server.methods == ["POST", "PATCH", "HEAD"])
  }

  /// The response was lost in one call; the next one knows it from the state file.
  @Test(arguments: Kind.allCases)
  func laterCallDoesNotRepeatWhatMayBeComplete(_ kind: Kind) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let server = try Self.forgettingServer(kind)
    let options = UploadOptions(using: kind, state: folder["state"])
    await #expect(throws: URLError.self) {
      try await Wire.automatic.manager(server.server).upload(CreateUpload(), fromFile: file, options: options)
    }
    #expect(folder.names == ["a", "state"])
    await #expect(throws: UploadError.outcomeUnknown) {
      try await Wire.automatic.manager(server.server).upload(CreateUpload(), fromFile: file, options: options)
    }
    #expect(server.methods == ["POST", "PATCH", "HEAD"])
    #expect(folder.names == ["a"])
  }

  /// An injected session does not tell how much of the last part it has sent.
  @Test(arguments: Kind.allCases)
  func sessionThatDoesNotCountMayHaveSentAll(_ kind: Kind) async throws {
    let folder = try ScratchFolder()
    let file = try folder.file("a", Data.noise(1_000))
    let session = LosingSession()
    let manager = NetworkManager(baseURL: try #require(URL(string: "https://a.example")), session: session)
    await #expect(throws: UploadError.outcomeUnknown) {
      try await manager.upload(
        CreateUpload(retryPolicy: .immediate(5)), fromFile: file, options: UploadOptions(using: kind))
    }
    #expect(session.methods.withLock { $0 } == ["POST", "PATCH", "HEAD"])
  }

  /// A server that ends the connection once it has a part, and then no longer knows the upload.
  private static func forgettingServer(_ kind: Kind) throws -> UploadServer {
    let server = try UploadServer(kind)
    server.state.withLock { state in
      state.override = { request in
        switch request.method {
        case "PATCH": .raw([.close])
        case "HEAD": .status(404)
        default: nil
        }
      }
    }
    return server
  }
}

/// A session whose connection is lost during each PATCH, and whose server then no longer knows the upload.
private final class LosingSession: URLSessionProtocol, Sendable {
  let methods = Locked<[String]>([])

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    let method = request.httpMethod ?? ""
    methods.withLock { $0.append(method) }
    guard method != "PATCH" else { throw URLError(.networkConnectionLost) }
    let url = try #require(request.url)
    let response = HTTPURLResponse(
      url: url, statusCode: method == "POST" ? 201 : 404, httpVersion: nil, headerFields: ["Location": "/files/1"])
    return (Data(), try #require(response))
  }
}
