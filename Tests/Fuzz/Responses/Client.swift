import EKNetwork
import Foundation
import FoundationNetworking

/// Sends many concurrent requests to server.py: `Client SEED FIRST COUNT PLAIN TLS H2 CA`. Every request must finish in
/// time with a value or a documented error; a value with the server's proof must be correct.
@main
enum Client {
  static func main() async {
    let arguments = CommandLine.arguments
    let numbers = arguments.dropFirst().prefix(6).compactMap { UInt64($0) }
    guard arguments.count == 8, numbers.count == 6,
      let ask = Asker(seed: numbers[0], ports: numbers[3...], authority: arguments[7])
    else {
      say("usage: Client SEED FIRST COUNT PLAIN TLS H2 CA")
      exit(64)
    }
    let record = Record()
    record.watch()
    let indices = Indices(numbers[1], count: numbers[2])
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<Asker.width {
        group.addTask {
          while let index = await indices.next() {
            record.begin(index)
            record.end(index, await ask(index))
          }
        }
      }
    }
    exit(record.report() ? 0 : 1)
  }
}

/// Prints without buffering, because a buffer would be lost when the process aborts.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

actor Indices {
  private var range: Range<UInt64>
  init(_ first: UInt64, count: UInt64) { range = first..<first + count }
  func next() -> UInt64? { range.popFirst() }
}

/// A reproducible random number generator: SplitMix64.
struct Source: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

/// The outcome of a request.
enum Ending: Hashable {
  /// A value with the server's proof.
  case proven
  case value
  case error(String)
  case cancelled
  /// An outcome that must not occur.
  case wrong(String)
}

struct Payload: Decodable, Sendable {
  var data = Data()
  var proof: String?
}

struct Ask: NetworkRequest, Sendable {
  typealias Response = Payload
  var path: String
  var method = HTTPMethod.get
  var content = Content.none
  var expectsContinue = false
  var timeout: Duration? { .seconds(60) }
  var maximumResponseSize: Int64? { 8 << 20 }

  enum Content: Sendable {
    case none, data(Int), sequence(Int)
  }

  var body: RequestBody? {
    switch content {
    case .none: nil
    case .data(let count): RequestBody(data: Data(repeating: 97, count: count), contentType: "text/plain")
    case .sequence(let count):
      RequestBody(
        sequence: AsyncStream { continuation in
          for _ in 0..<count { continuation.yield(Data(repeating: 98, count: 700)) }
          continuation.finish()
        }, contentType: "text/plain")
    }
  }

  var emptyResponseHandler: ((HTTPURLResponse) throws -> Payload)? {
    { Payload(proof: $0.value(forHTTPHeaderField: "X-Proof")) }
  }

  func decodeResponse(data: Data, response: URLResponse) throws -> Payload {
    Payload(data: data, proof: (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Proof"))
  }
}

/// Sends the request of an index; all of its properties depend on the index and the seed.
struct Asker: Sendable {
  static let width = 48
  private static let speaksOnlyHTTP2 = ProcessInfo.processInfo.environment["RESPONSES_ONLY"] == "http2"

  private let seed: UInt64
  private let plain: [NetworkManager]
  private let secure: [NetworkManager]
  private let folder: URL

  init?(seed: UInt64, ports: ArraySlice<UInt64>, authority: String) {
    self.seed = seed
    let tls = TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: authority))
    func manager(_ scheme: String, _ port: UInt64, connections: Int) -> NetworkManager? {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = connections
      configuration.httpShouldSetCookies = connections != 16
      guard let url = URL(string: "\(scheme)://127.0.0.1:\(port)") else { return nil }
      return NetworkManager(
        baseURL: url, session: URLSession(configuration: configuration),
        transport: scheme == "https" ? .secured(by: tls) : .automatic)
    }
    let ports = Array(ports)
    plain = [manager("http", ports[0], connections: 6), manager("http", ports[0], connections: 16)].compactMap { $0 }
    secure = [manager("https", ports[1], connections: 8), manager("https", ports[2], connections: 8)].compactMap { $0 }
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("responses-\(getpid())")
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    guard plain.count == 2, secure.count == 2 else { return nil }
  }

  func callAsFunction(_ index: UInt64) async -> Ending {
    var source = Source(state: seed &* 0x2545_F491_4F6C_DD1D ^ index)
    let manager: NetworkManager
    switch Int.random(in: 0..<100, using: &source) {
    case _ where Self.speaksOnlyHTTP2: manager = secure[1]
    case ..<80: manager = plain[Int.random(in: 0..<2, using: &source)]
    case ..<86: manager = secure[0]
    default: manager = secure[1]
    }
    var request = Ask(path: "/\(seed)/\(index)")
    let kind = Int.random(in: 0..<100, using: &source)
    let amount = Int.random(in: 0..<64, using: &source)
    do {
      switch kind {
      case ..<45: break
      case ..<53: request.method = .head
      case ..<63:
        request.method = .post
        request.content = .data(amount < 56 ? amount : amount * 4_000)
        request.expectsContinue = amount % 8 == 0
      case ..<67:
        request.method = .put
        request.content = .sequence(amount)
      case ..<87: return try await stream(request, with: manager, index: index, style: kind - 67, amount: amount)
      case ..<92: return try await download(request, with: manager, index: index)
      default: return try await cancelled(request, with: manager, index: index, after: amount)
      }
      return judge(try await manager.send(request), index)
    } catch { return Self.ending(of: error) }
  }

  private func judge(_ payload: Payload, _ index: UInt64, isHead: Bool = false) -> Ending {
    guard let proof = payload.proof else { return .value }
    guard proof == "\(index)" else { return .wrong("the response to \(proof)") }
    let expected = Self.body(of: index)
    guard payload.data.isEmpty || payload.data == expected else {
      return .wrong("\(payload.data.count) bytes that are not the \(expected.count) of the response")
    }
    return .proven
  }

  /// Returns the body of a valid response of server.py.
  private static func body(of index: UInt64) -> Data {
    let count = 1 + Int(index % 7) + (index % 97 == 0 ? 20_000 : 0)
    return Data(String(repeating: "\(index) ", count: count).utf8)
  }

  private func stream(
    _ request: Ask, with manager: NetworkManager, index: UInt64, style: Int, amount: Int
  ) async throws -> Ending {
    let response = try await manager.stream(request)
    let proof = response.headers.first { $0.key.lowercased() == "x-proof" }?.value
    switch style {
    case ..<10:
      var data = Data()
      for try await chunk in response.body {
        data += chunk
        if amount < 8 { await Task.yield() }
      }
      // Compares the whole body, which must not be empty here.
      if proof == "\(index)", data != Self.body(of: index) { return .wrong("a stream of \(data.count) other bytes") }
      return judge(Payload(data: data, proof: proof), index)
    case ..<13: for try await _ in response.body.lines() {}
    case ..<16: for try await _ in response.body.events() {}
    default:
      // Abandons the stream in the middle of the body, or before it.
      var left = amount % 3
      if left > 0 {
        for try await _ in response.body {
          left -= 1
          if left == 0 { break }
        }
      }
    }
    return .value
  }

  private func download(_ request: Ask, with manager: NetworkManager, index: UInt64) async throws -> Ending {
    let file = folder.appendingPathComponent("\(index)")
    defer {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
      where name.contains("\(index)") { try? FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
    }
    try await manager.download(request, to: file)
    return .value
  }

  private func cancelled(
    _ request: Ask, with manager: NetworkManager, index: UInt64, after amount: Int
  ) async throws -> Ending {
    let task = Task { try await manager.send(request) }
    if amount < 32 {
      for _ in 0..<amount { await Task.yield() }
    } else {
      try await Task.sleep(for: .microseconds(amount * 50))
    }
    task.cancel()
    return judge(try await task.value, index)
  }

  private static func ending(of error: any Error) -> Ending {
    switch error {
    case is CancellationError: .cancelled
    // The server does not keep connections idle for long.
    case let error as URLError where error.code == .timedOut: .wrong("timed out")
    case let error as URLError where error.code == .unknown: .wrong("unknown: \(error.localizedDescription)")
    case let error as URLError: .error("URLError \(error.code.rawValue)")
    case is HTTPError, is NetworkError, is DownloadError, is ResponseLimitError, is StreamingError,
      is StreamLineTooLongError, is EventStreamError, is TransportOptionError:
      .error("\(type(of: error))")
    default: .wrong("\(type(of: error)): \(error)")
    }
  }
}

/// A record of the outcomes, and of the requests in progress.
///
/// Unchecked: `lock` protects all of its state.
final class Record: @unchecked Sendable {
  private static let limit: UInt64 = 200
  private let lock = NSLock()
  private var open: [UInt64: UInt64] = [:]
  private var endings: [Ending: Int] = [:]
  private var wrong = 0

  private static func seconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec)
  }

  func begin(_ index: UInt64) { lock.withLock { open[index] = Self.seconds() } }

  func end(_ index: UInt64, _ ending: Ending) {
    lock.withLock {
      open[index] = nil
      if case .wrong(let text) = ending {
        wrong += 1
        say("WRONG \(index): \(text)")
      } else {
        endings[ending, default: 0] += 1
      }
    }
  }

  /// Aborts the process if a request does not finish in time.
  func watch() {
    Thread.detachNewThread { [self] in
      while true {
        sleep(1)
        let late = lock.withLock { open.filter { $0.value + Self.limit < Self.seconds() }.keys.sorted() }
        if !late.isEmpty {
          say("HANGS \(late.map(String.init).joined(separator: " "))")
          abort()
        }
      }
    }
  }

  /// Prints the count of each outcome; returns whether none was wrong.
  func report() -> Bool {
    lock.withLock {
      for (ending, count) in endings {
        switch ending {
        case .error(let name): say("ended\terror \(name)\t\(count)")
        default: say("ended\t\(ending)\t\(count)")
        }
      }
      return wrong == 0
    }
  }
}
