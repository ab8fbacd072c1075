import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct FormUploadTests {
  private let server: LoopbackServer
  private let folder: ScratchFolder

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
    server.fallback = { _ in .text("") }
  }

  @Test(arguments: Wire.allCases, [0, 1, 65_536, 300_000])
  func formWithFilesEqualsFormInMemory(_ wire: Wire, size: Int) async throws {
    let first = Data.noise(size)
    let second = Data.noise(10)
    var streamed = MultipartFormData(boundary: "boundary-of-a-test")
    streamed.addPart(name: "title", data: Data("Cat".utf8), mimeType: "text/plain")
    streamed.addPart(name: "f", fileURL: try folder.file("a.bin", first), mimeType: "a/b")
    streamed.addPart(name: "g", fileURL: try folder.file("b.bin", second), mimeType: "", filename: "ü\"\r\n\\.bin")
    var held = MultipartFormData(boundary: "boundary-of-a-test")
    held.addPart(name: "title", data: Data("Cat".utf8), mimeType: "text/plain")
    held.addPart(name: "f", data: first, mimeType: "a/b", filename: "a.bin")
    held.addPart(name: "g", data: second, mimeType: "", filename: "ü\"\r\n\\.bin")
    let manager = wire.manager(server)
    for form in [streamed, held] {
      _ = try await manager.send(Probe<StatusCodeResponse>(path: "/f", method: .post, multipartData: form))
    }
    let requests = server.requests
    try #require(requests.count == 2)
    #expect(requests[0].body == requests[1].body)
    #expect(requests[0].headers["Content-Type"] == requests[1].headers["Content-Type"])
    if wire == .automatic { #expect(requests[0].headers["Content-Length"] == requests[1].headers["Content-Length"]) }
    #expect(streamed.encodedData() == nil)
  }

  @Test func formWithFilesIsRetried() async throws {
    server.route("/f", .status(503), .status(200))
    var form = MultipartFormData()
    form.addPart(name: "f", fileURL: try folder.file("a", Data.noise(100_000)), mimeType: "a/b")
    let request = Probe<StatusCodeResponse>(
      path: "/f", method: .post, multipartData: form, retryPolicy: RetryPolicy(maxRetryCount: 1, delay: 0))
    _ = try await Wire.automatic.manager(server).send(request)
    #expect(server.requests.count == 2)
    #expect(server.requests[0].body == server.requests[1].body)
  }

  @Test func aMediaTypeWithALineBreakIsRefused() async throws {
    var form = MultipartFormData()
    form.addPart(name: "f", fileURL: try folder.file("a", Data()), mimeType: "a/b\r\nX: y")
    let request = Probe<StatusCodeResponse>(path: "/f", method: .post, multipartData: form)
    await #expect(throws: NetworkError.invalidMultipartEncoding) {
      try await Wire.automatic.manager(server).send(request)
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test func aMockSessionReadsTheSameBody() async throws {
    var form = MultipartFormData(boundary: "boundary-of-a-test")
    form.addPart(name: "f", fileURL: try folder.file("a", Data.noise(1_000)), mimeType: "a/b")
    let session = ReadingSession()
    let manager = NetworkManager(baseURL: server.baseURL, session: session)
    _ = try await manager.send(Probe<StatusCodeResponse>(path: "/f", method: .post, multipartData: form))
    let pieces = AsyncStream<Data> { continuation in
      continuation.yield(Data([7, 8]))
      continuation.finish()
    }
    let body = RequestBody(sequence: pieces, contentType: "a/b", length: 2)
    _ = try await manager.send(Probe<StatusCodeResponse>(path: "/s", method: .post, body: body))
    let bodies = session.bodies.withLock { $0 }
    #expect(bodies.map(\.length) == [String(bodies[0].data.count), "2"])
    #expect(bodies[0].data.count > 1_000)
    #expect(bodies[0].data.suffix(26) == Data("\r\n--boundary-of-a-test--\r\n".utf8))
    #expect(bodies[1].data == Data([7, 8]))
  }
}

/// A mock that reads the stream of a request, as a test of what is sent would.
private final class ReadingSession: URLSessionProtocol, Sendable {
  let bodies = Locked<[(data: Data, length: String?)]>([])

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    var data = Data()
    if let stream = request.httpBodyStream {
      stream.open()
      var buffer = [UInt8](repeating: 0, count: 100)
      while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 { data += buffer[..<count] }
      stream.close()
    }
    bodies.withLock { [data] in $0.append((data, request.value(forHTTPHeaderField: "Content-Length"))) }
    let url = try #require(request.url)
    let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
    return (Data(), try #require(response))
  }
}
