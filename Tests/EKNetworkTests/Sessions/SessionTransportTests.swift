import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite("SessionTransport", .timeLimit(.minutes(10)))
struct SessionTransportTests {
  private static func request() throws -> TransportRequest {
    TransportRequest(URLRequest(url: try #require(URL(string: "https://api.example.com/users"))))
  }

  @Test("A mock like the documented one returns its response")
  func mock() async throws {
    let mock = PlainMock()
    let transport = SessionTransport(mock)
    #expect(transport.resolvesRedirects)
    let fetched = try await transport.fetch(Self.request())
    #expect(fetched.head.statusCode == 200)
    #expect(fetched.data == Data("hello".utf8))
    #expect(mock.requests.map(\.url?.path) == ["/users"])
  }

  @Test("A mock's response body can be pulled, too")
  func pulled() async throws {
    let response = try await SessionTransport(PlainMock()).start(Self.request())
    #expect(try await response.body.next() == Data("hello".utf8))
    #expect(try await response.body.next() == nil)
    response.body.cancel()
    await #expect(throws: CancellationError.self) { try await response.body.next() }
  }

  @MainActor @Test("A mock on the main actor is called on the main actor")
  func mainActor() async throws {
    let mock = MainActorMock()
    let fetched = try await SessionTransport(mock).fetch(Self.request())
    #expect(fetched.head.statusCode == 204)
    #expect(mock.calls == 1)
  }

  @Test("A mock's errors pass through unchanged")
  func errors() async throws {
    let mock = PlainMock()
    mock.error = NetworkError.unauthorized
    await #expect(throws: NetworkError.unauthorized) { try await SessionTransport(mock).fetch(Self.request()) }
  }

  @Test("A response that is not HTTP is passed on")
  func notHTTP() async throws {
    let mock = PlainMock()
    mock.isHTTP = false
    #expect(try await SessionTransport(mock).fetch(Self.request()).head.statusCode == nil)
  }

  @Test("A cancelled task throws CancellationError, whether the mock returns or throws", arguments: [true, false])
  func cancelled(throwsError: Bool) async throws {
    let (started, cancelled) = (Gate(), Gate())
    let task = Task {
      let mock = PlainMock()
      mock.before = {
        started.open()
        await cancelled.wait()
      }
      if throwsError { mock.error = URLError(.cancelled) }
      return try await SessionTransport(mock).fetch(Self.request())
    }
    #expect(await started.wait())
    task.cancel()
    cancelled.open()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("Progress is reported once, at the end")
  func progress() async throws {
    let (sent, received) = (Recorder(), Recorder())
    var urlRequest = try Self.request().sent.urlRequest
    urlRequest.httpBody = Data(count: 3)
    var request = TransportRequest(urlRequest)
    request.onSend = { sent.note($0, $1) }
    request.onReceive = BodyObserver { received.note($0, $1) }
    _ = try await SessionTransport(PlainMock()).fetch(request)
    sent.expectMonotonic(to: 3, of: 3)
    received.expectMonotonic(to: 5, of: 5)
  }
}

/// Neither final nor Sendable, like typical mocks.
private class PlainMock: URLSessionProtocol {
  var requests: [URLRequest] = []
  var error: (any Error)?
  var isHTTP = true
  var before: () async -> Void = {}

  func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    requests.append(request)
    await before()
    if let error { throw error }
    guard let url = request.url else { throw URLError(.badURL) }
    let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: 5, textEncodingName: nil)
    guard isHTTP else { return (Data("hello".utf8), plain) }
    let response = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
    return (Data("hello".utf8), response ?? plain)
  }
}

@MainActor private final class MainActorMock: @MainActor URLSessionProtocol {
  var calls = 0

  // Repeated, because the isolation of the requirement would override that of the class.
  @MainActor func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    MainActor.assertIsolated()
    calls += 1
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 204, httpVersion: nil, headerFields: nil)
    else { throw URLError(.badURL) }
    return (Data(), response)
  }
}
