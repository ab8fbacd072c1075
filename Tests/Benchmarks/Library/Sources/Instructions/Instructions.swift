import EKNetwork

/// Sends one request after the other: `Instructions mock|wire COUNT URL`. Its instructions are counted from outside.
@main enum Instructions {
  private struct Get: NetworkRequest {
    typealias Response = Item
    let path: String
    let method = HTTPMethod.get
  }

  private struct Item: Decodable, Sendable {
    let id: Int
    let name: String
    let price: Double
  }

  /// The same answer each time, made once.
  private final class MockSession: URLSessionProtocol {
    private let answer: (Data, URLResponse)

    init(_ url: URL) throws {
      let fields = ["Content-Type": "application/json"]
      guard let head = HTTPURLResponse(url: url, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: fields) else {
        throw URLError(.badURL)
      }
      answer = (Data(#"{"id":12345,"name":"a teapot of fine porc","price":12.50}"#.utf8), head)
    }

    func data(for request: URLRequest) async throws -> (Data, URLResponse) { answer }
  }

  /// Not asynchronous: that would give up the main thread, and valgrind does not survive it.
  static func main() {
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
      do { try await run() } catch { fatalError("\(error)") }
      isDone.signal()
    }
    isDone.wait()
  }

  private static func run() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 4, let count = Int(arguments[2]), let url = URL(string: arguments[3]) else {
      FileHandle.standardError.write(Data("Instructions mock|wire COUNT URL\n".utf8))
      exit(64)
    }
    let session: any URLSessionProtocol = arguments[1] == "mock" ? try MockSession(url) : URLSession.shared
    let manager = NetworkManager(baseURL: url, session: session)
    let request = Get(path: "/item.json")
    for _ in 0..<count { _ = try await manager.send(request) }
  }
}
