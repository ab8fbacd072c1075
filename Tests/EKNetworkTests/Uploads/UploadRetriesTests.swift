import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// Which requests of an upload are repeated (RFC 9110 §9.2.2).
struct UploadRetriesTests {
  typealias Kind = UploadOptions.ResumptionProtocol

  private let folder: ScratchFolder
  private let content = Data.noise(300_000)
  private let file: URL

  init() throws {
    folder = try ScratchFolder()
    file = try folder.file("a.bin", content)
  }

  /// The POST is repeated like any other; an upload that exists is asked for its offset.
  @Test(arguments: Kind.allCases, [500, 503])
  func creationIsRepeatedOnlyIfThatIsHarmless(_ kind: Kind, _ status: Int) async throws {
    let server = try UploadServer(kind)
    let (isFirst, isFirstPart) = (Locked(true), Locked(true))
    server.state.withLock { state in
      state.override = { request in
        let isDue = request.method == "POST" ? isFirst : isFirstPart
        return isDue.withLock { exchange(&$0, with: false) } ? .status(request.method == "POST" ? status : 500) : nil
      }
    }
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    let options = UploadOptions(using: kind, state: folder["state"])
    let upload = {
      try await manager.upload(CreateUpload(retryPolicy: .transientFailures), fromFile: file, options: options)
    }
    if status == 500 {
      await #expect(throws: HTTPError.self) { _ = try await upload() }
      #expect(server.methods == ["POST"])
    } else {
      #expect(try await upload().size == Int64(content.count))
      #expect(server.methods.prefix(4) == ["POST", "POST", "PATCH", "HEAD"])
    }
  }

  /// Without a state file, the operation would create another upload, while the server may complete the first.
  @Test(arguments: Kind.allCases, [true, false])
  func operationContinuesAnUploadButCreatesNoOther(_ kind: Kind, _ hasState: Bool) async throws {
    let server = try UploadServer(kind)
    let isFirst = Locked(true)
    server.state.withLock { state in
      state.override = { request in
        guard request.method == "PATCH" else { return nil }
        return isFirst.withLock { exchange(&$0, with: false) } ? .status(500) : nil
      }
    }
    let manager = Wire.automatic.manager(server.server)
    let (file, options) = (file, UploadOptions(using: kind, state: hasState ? folder["state"] : nil))
    let retryable = PrismRetryableRequest(policy: PrismLinearRetry(), clock: RecordingClock()) {
      try await manager.upload(CreateUpload(), fromFile: file, options: options)
    }
    if hasState {
      #expect(try await retryable.execute().size == Int64(content.count))
      #expect(server.methods == ["POST", "PATCH", "HEAD", "PATCH"])
    } else {
      await #expect(throws: HTTPError.self) { _ = try await retryable.execute() }
      #expect(server.methods == ["POST", "PATCH"])
    }
  }

  /// Each token is accepted for one part: without a policy, each renewal lets the upload advance.
  @Test(arguments: Kind.allCases)
  func tokenIsRenewedAsOftenAsItExpires(_ kind: Kind) async throws {
    let server = try UploadServer(kind)
    let used = Locked<Set<String?>>([])
    server.state.withLock { state in
      state.override = { request in
        let isValid =
          request.method != "PATCH" || used.withLock { $0.insert(request.headers["Authorization"]).inserted }
        return isValid ? nil : .status(401)
      }
    }
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    let tokens = TestTokens("0") { "\($0)" }
    manager.tokenRefresher = tokens
    let options = UploadOptions(using: kind, chunkSize: 50_000)
    try await manager.upload(
      CreateUpload(), fromFile: file, accessToken: { tokens.current }, options: options)
    #expect(server.data == content)
    #expect(server.received == content.count)
    #expect(tokens.count == 5)
  }

  /// A renewal that brings no valid token, or fails, is not repeated without an end.
  @Test(arguments: [true, false])
  func tokenThatIsNotAcceptedIsNotRenewedAgain(_ renewalFails: Bool) async throws {
    let server = try UploadServer(.tus)
    let parts = Locked(0)
    server.state.withLock { state in
      state.override = { request in
        guard request.method != "POST" else { return nil }
        return parts.withLock { $0.increment() } <= 2 ? nil : .status(401)
      }
    }
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    let tokens = TestTokens("0") { number in
      if renewalFails { throw URLError(.notConnectedToInternet) }
      return "\(number)"
    }
    manager.tokenRefresher = tokens
    await #expect(throws: (any Error).self) {
      try await manager.upload(
        CreateUpload(), fromFile: file, accessToken: { tokens.current },
        options: UploadOptions(using: .tus, chunkSize: 100_000))
    }
    #expect(tokens.count == 1)
    #expect(server.methods == ["POST", "PATCH", "PATCH", "PATCH"] + (renewalFails ? [] : ["HEAD"]))
  }

  /// The next attempt cannot be built, and says nothing about the token of the last one.
  @Test func renewalWithoutATokenThatCanBeSentEndsTheUpload() async throws {
    let server = try UploadServer(.tus)
    let parts = Locked(0)
    server.state.withLock { state in
      state.override = { request in
        guard request.method == "PATCH" else { return nil }
        return parts.withLock { $0.increment() } == 1 ? nil : .status(401)
      }
    }
    let manager = Wire.automatic.manager(server.server, clock: RecordingClock())
    let tokens = TestTokens("0") { "\($0)\n" }
    manager.tokenRefresher = tokens
    await #expect(throws: InvalidHeaderError.self) {
      try await manager.upload(
        CreateUpload(), fromFile: file, accessToken: { tokens.current },
        options: UploadOptions(using: .tus, chunkSize: 100_000))
    }
    #expect(tokens.count == 1)
    #expect(server.methods == ["POST", "PATCH", "PATCH"])
  }
}
