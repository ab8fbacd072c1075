import LoopbackServer
import Testing

@testable import EKNetwork

/// A folder in which another user may have put files.
@Suite(.timeLimit(.minutes(10))) struct OfflineQueueTrustTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func plant(owner: uid_t?, mode: mode_t) throws -> PrismOfflineQueue {
    let outbox = folder["outbox"]
    mkdir(outbox.path, 0o777)
    let secret = try folder.file("secret", Data("secret".utf8))
    let url = try #require(URL(string: "http://127.0.0.1:9/"))
    let stored = try StoredRequest(
      PrismQueuedRequest(urlRequest: URLRequest(url: url)), body: .referenced(path: secret.path),
      storesCredentials: false)
    let head = try JSONEncoder().encode(stored)
    let file = outbox.appendingPathComponent("00000000000000000001-0.request")
    try (Data("EKNQ1 \(head.count) 0\n".utf8) + head).write(to: file)
    chmod(file.path, mode)
    if let owner { try #require(chown(file.path, owner, owner) == 0) }
    return try PrismOfflineQueue(directory: outbox, delivery: .each { _ in }, autoFlush: false)
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
  func fileOfOtherUserIsRejected() async throws {
    let queue = try plant(owner: 12_345, mode: 0o644)
    #expect(await queue.count == 0)
    #expect(queue.damagedFiles.count == 1)
  }

  @Test(arguments: [mode_t(0o666), 0o620]) func fileWritableByOthersIsRejected(mode: mode_t) async throws {
    let queue = try plant(owner: nil, mode: mode)
    #expect(await queue.count == 0)
    #expect(queue.damagedFiles.count == 1)
  }

  @Test func privateFileIsAccepted() async throws {
    #expect(await (try plant(owner: nil, mode: 0o600)).count == 1)
  }

  @Test func symbolicLinkIsNotWrittenThrough() async throws {
    let precious = try folder.file("precious", Data("precious".utf8))
    let queue = try PrismOfflineQueue(directory: folder["outbox"], delivery: .each { _ in }, autoFlush: false)
    let partial = folder["outbox"].appendingPathComponent("00000000000000000001-0.request.partial")
    #expect(symlink(precious.path, partial.path) == 0)
    try await queue.enqueue(URLRequest(url: try #require(URL(string: "http://127.0.0.1:9/"))))
    #expect(try String(contentsOf: precious, encoding: .utf8) == "precious")
    #expect(await queue.count == 1)
  }
}
