import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("URLSessionTransport: request bodies", .timeLimit(.minutes(10)))
struct URLSessionTransportUploadTests {
  private let server: LoopbackServer
  private let transport: URLSessionTransport

  init() throws {
    server = try LoopbackServer()
    transport = URLSessionTransport(URLSession(configuration: .ephemeral))
    server.route("/upload") { request in .text("\(request.bodyByteCount)") }
  }

  private func post(_ change: (inout URLRequest) -> Void) -> TransportRequest {
    var request = URLRequest(url: server.url("/upload"))
    request.httpMethod = "POST"
    change(&request)
    return TransportRequest(request)
  }

  @Test("Data is sent with its Content-Length, and progress ends with it")
  func data() async throws {
    let body = Data.noise(1_000_000)
    let progress = Recorder()
    var request = post { $0.httpBody = body }
    request.onSend = { progress.note($0, $1) }
    #expect(try await transport.fetch(request).data == Data("1000000".utf8))
    let received = try #require(server.requests.first)
    #expect(received.body == body)
    #expect(received.header("Content-Length") == "1000000")
    progress.expectMonotonic(to: 1_000_000, of: 1_000_000)
  }

  @Test("A stream is sent whole, and only once")
  func stream() async throws {
    let body = Data.noise(200_000)
    let request = post {
      $0.httpBodyStream = InputStream(data: body)
      $0.setValue("5", forHTTPHeaderField: "Content-Length")
    }
    #expect(try await transport.fetch(request).data == Data("200000".utf8))
    let received = try #require(server.requests.first)
    #expect(received.body == body)
    if Platform.isLinux {
      #expect(received.header("Content-Length") == nil)
      let error = await #expect(throws: URLError.self) { try await transport.fetch(request) }
      #expect(error?.code == .requestBodyStreamExhausted)
      #expect(server.requestCount == 1)
    }
  }

  @Test("A body is not lost on a connection that the server has just closed", .enabled(if: Platform.isLinux))
  func staleConnection() async throws {
    server.route("/first", LoopbackServer.Response.text("1").then(.closeOnNextRequest))
    for _ in 0..<5 {
      _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/first"))))
      #expect(try await transport.fetch(post { $0.httpBody = Data(count: 5_000) }).data == Data("5000".utf8))
      let stream = post { $0.httpBodyStream = InputStream(data: Data(count: 5_000)) }
      #expect(try await transport.fetch(stream).data == Data("5000".utf8))
    }
    #expect(server.requests(path: "/upload").allSatisfy { $0.isComplete && $0.bodyByteCount == 5_000 })
  }

  @Test("A request for a second body stream fails instead of sending nothing")
  func refusal() async throws {
    let taskResponse = TaskResponseStream(
      post { $0.httpBodyStream = InputStream(data: Data(count: 1)) }, idleTimeout: nil, limit: 1, overflow: .fail,
      queue: .global())
    #expect(taskResponse.secondBody() == nil)
    let error = await #expect(throws: URLError.self) { try await taskResponse.head() }
    #expect(error?.code == .requestBodyStreamExhausted)

    let data = TaskResponseStream(
      post { $0.httpBody = Data(count: 1) }, idleTimeout: nil, limit: 1, overflow: .fail, queue: .global())
    #expect(data.secondBody() == nil)
    let lost = await #expect(throws: URLError.self) { try await data.head() }
    #expect(lost?.code == .networkConnectionLost)
  }

  @Test("A method or header field that would inject another request is rejected", .enabled(if: Platform.isLinux))
  func injection() async throws {
    let error = await #expect(throws: URLError.self) {
      try await transport.fetch(post { $0.httpMethod = "GET / HTTP/1.1\r\nX-C: d\r\n\r\nGET" })
    }
    #expect(error?.code == .badURL)
    for fields in [["X-A": "b\r\nX-C: d"], ["X-A: b\r\nX-C": "d"], ["X-A": "\u{1}"]] {
      await #expect(throws: InvalidHeaderError.self) {
        try await transport.fetch(post { $0.allHTTPHeaderFields = fields })
      }
    }
    #expect(server.requests.allSatisfy { $0.header("X-C") == nil })
  }

  @Test("An early response to an upload is returned")
  func early() async throws {
    server.route("POST", "/refused", onHead: { _ in .respond(.text("too large", status: 413).then(.close)) }) { _ in
      .text("")
    }
    var request = URLRequest(url: server.url("/refused"))
    request.httpMethod = "POST"
    request.httpBody = Data(count: 10)
    #expect(try await transport.fetch(TransportRequest(request)).head.statusCode == 413)
  }
}
