import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

/// A strong validator is unique among the representations of one resource only (RFC 9110 §8.8.1).
struct RedirectedDownloadTests {
  private let server: LoopbackServer
  private let folder: ScratchFolder
  private let old = Data.noise(300_000)
  private let new = Data(Data.noise(300_000).reversed())
  /// Where `/latest` leads.
  private let location = Locked("/v1.bin?signature=1")
  private var target: URL { folder["a.bin"] }

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
    server.route("/latest") { [location] _ in
      .status(302, headers: ["Location": location.withLock { $0 }])
    }
    for (path, content) in [("/v1.bin", old), ("/v2.bin", new)] {
      server.route(path) { Self.respond(to: $0, with: content) }
    }
    server.route("/dl") { [old, new] in Self.respond(to: $0, with: $0.target.contains("file=v1.bin") ? old : new) }
  }

  /// The response to a first request breaks off.
  private static func respond(to request: LoopbackServer.Request, with content: Data) -> LoopbackServer.Response {
    let isFirst = request.headers["X-First"] != nil
    let isPart = request.headers["Range"] == "bytes=100000-" && request.headers["If-Range"] == "\"x\""
    let body = isFirst ? content.prefix(100_000) : isPart ? content.dropFirst(100_000) : content
    let head =
      "HTTP/1.1 \(isPart ? 206 : 200) A\r\nETag: \"x\"\r\nContent-Length: \(isPart ? 200_000 : 300_000)\r\n"
      + (isPart ? "Content-Range: bytes 100000-299999/300000\r\n" : "")
    return .raw([.sendString(head + "\r\n"), .send(Data(body))] + (isFirst ? [.close] : []))
  }

  private func breakOff(_ manager: NetworkManager) async {
    await #expect(throws: URLError.self) {
      try await manager.download(FileRequest(path: "/latest", headers: ["X-First": "1"]), to: target)
    }
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"])
  }

  private func downloadInTwoParts(_ wire: Wire, secondFrom path: String) async throws -> DownloadedFile {
    let manager = wire.manager(server)
    await breakOff(manager)
    location.withLock { $0 = path }
    return try await manager.download(FileRequest(path: "/latest"), to: target)
  }

  @Test(arguments: Wire.allCases)
  func partOfAnotherResourceIsNotAppended(_ wire: Wire) async throws {
    let result = try await downloadInTwoParts(wire, secondFrom: "/v2.bin")
    #expect(try Data(contentsOf: target) == new)
    #expect(result.resumedBytes == 0)
    #expect(result.statusCode == 200)
  }

  /// Some servers name the file in the query.
  @Test(arguments: Wire.allCases)
  func partOfAnotherFileInTheQueryIsNotAppended(_ wire: Wire) async throws {
    location.withLock { $0 = "/dl?file=v1.bin&X-Amz-Signature=1" }
    let result = try await downloadInTwoParts(wire, secondFrom: "/dl?file=v2.bin&X-Amz-Signature=1")
    #expect(try Data(contentsOf: target) == new)
    #expect(result.resumedBytes == 0)
  }

  /// The query of a redirect's target is often a signature of its own for each request.
  @Test(arguments: Wire.allCases)
  func anotherQueryIsTheSameResource(_ wire: Wire) async throws {
    let result = try await downloadInTwoParts(wire, secondFrom: "/v1.bin?signature=2#here")
    #expect(try Data(contentsOf: target) == old)
    #expect(result.resumedBytes == 100_000)
  }

  /// The first call of each pair breaks off. A token may name the file.
  @Test(arguments: [("X-Amz-Signature", 100_000), ("token", 0)])
  func anotherSignatureOfTheOwnURLIsTheSameResource(_ parameter: String, resumed: Int) async throws {
    let manager = Wire.automatic.manager(server)
    func request(_ signature: String, headers: [String: String]? = nil) -> Probe<EmptyResponse> {
      Probe(path: "/v1.bin", headers: headers, queryParameters: [parameter: signature])
    }
    await #expect(throws: URLError.self) {
      try await manager.download(request("1", headers: ["X-First": "1"]), to: target)
    }
    let refused = try #require(URL(string: "http://127.0.0.1:\(try LoopbackServer.refusedPort())"))
    await #expect(throws: URLError.self) {
      try await Wire.automatic.manager(refused).download(request("2"), to: target)
    }
    #expect(folder.names == [".a.bin.download", ".a.bin.download.json"], "nothing was received for another")
    let result = try await manager.download(request("3"), to: target)
    #expect(result.resumedBytes == Int64(resumed))
    #expect(try Data(contentsOf: target) == old)
  }

  /// A note without the URL of the response is not enough to resume.
  @Test func noteWithoutSourceIsNotResumed() async throws {
    let manager = Wire.automatic.manager(server)
    await breakOff(manager)
    let note = folder[".a.bin.download.json"]
    var fields = try #require(
      try JSONSerialization.jsonObject(with: Data(contentsOf: note)) as? [String: Any])
    fields["source"] = nil
    try JSONSerialization.data(withJSONObject: fields).write(to: note)
    let result = try await manager.download(FileRequest(path: "/latest"), to: target)
    #expect(try Data(contentsOf: target) == old)
    #expect(result.resumedBytes == 0)
  }
}
