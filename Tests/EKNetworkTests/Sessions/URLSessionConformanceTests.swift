import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSession as a URLSessionProtocol", .timeLimit(.minutes(10)))
struct URLSessionConformanceTests {
  @Test("A direct call uses Foundation's implementation")
  func foundation() async throws {
    let server = try LoopbackServer()
    server.route("/from", .redirect(to: "/to"))
    server.route("/to", .text("there"))
    let session = URLSession(configuration: .ephemeral)
    // Foundation's method has a second, defaulted parameter. Ours would make these calls ambiguous, or shadow it.
    let plain: (Data, URLResponse) = try await session.data(for: URLRequest(url: server.url("/from")))
    let full = try await session.data(for: URLRequest(url: server.url("/to")), delegate: nil)
    #expect(plain.0 == Data("there".utf8))
    #expect(full.0 == Data("there".utf8))
    // Foundation does not send a GET with a body.
    var request = URLRequest(url: server.url("/to"))
    request.httpBody = Data(count: 1)
    let error = await #expect(throws: URLError.self) { try await session.data(for: request) }
    #expect(error?.code == .dataLengthExceedsMaximum)
  }

  @Test("A call through the protocol uses the library's implementation")
  func ours() async throws {
    let server = try LoopbackServer()
    server.route("/", .text("ok"))
    let session: any URLSessionProtocol = URLSession(configuration: .ephemeral)
    let (data, response) = try await session.data(for: URLRequest(url: server.url("/")))
    #expect(data == Data("ok".utf8))
    #expect((response as? HTTPURLResponse)?.statusCode == 200)
    let task = Task {
      let session: any URLSessionProtocol = URLSession(configuration: .ephemeral)
      withUnsafeCurrentTask { $0?.cancel() }
      return try await session.data(for: URLRequest(url: server.url("/")))
    }
    // Foundation would throw URLError.cancelled.
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("A truncated body is an error, whatever the status", arguments: [200, 500])
  func brokenBody(status: Int) async throws {
    let server = try LoopbackServer()
    server.route("/", .raw([.sendString("HTTP/1.1 \(status) X\r\nContent-Length: 9\r\n\r\nhalf")]))
    let session: any URLSessionProtocol = URLSession(configuration: .ephemeral)
    let error = await #expect(throws: URLError.self) { try await session.data(for: URLRequest(url: server.url("/"))) }
    #expect(error?.code == .networkConnectionLost)
  }
}
