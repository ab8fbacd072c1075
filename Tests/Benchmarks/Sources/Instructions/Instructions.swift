import EKNetwork

/// Sends requests one after the other: `Instructions mock|wire COUNT URL`. Another process counts the instructions.
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

  /// A session that returns the same response every time.
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

  /// Not asynchronous, because that would exit the main thread, and valgrind crashes then.
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
