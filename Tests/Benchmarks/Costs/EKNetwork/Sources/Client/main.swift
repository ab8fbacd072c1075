// Client URL [FEEDS [CA.pem]]: prints the decoded value, and the memory in use with that many open feeds.
import EKNetwork
import Foundation

struct Item: Decodable, Sendable {
  var id: Int
}

struct Get: NetworkRequest {
  typealias Response = Item
  let path: String
  let method = HTTPMethod.get
}

let arguments = CommandLine.arguments
guard arguments.count > 1, let url = URL(string: arguments[1]) else { exit(64) }
let configuration = URLSessionConfiguration.ephemeral
configuration.httpMaximumConnectionsPerHost = 2_000
let transport: TransportChoice =
  arguments.count > 3
  ? .secured(by: TLSOptions(certificateAuthorityFile: URL(fileURLWithPath: arguments[3]))) : .automatic
let manager = NetworkManager(
  baseURL: url, session: URLSession(configuration: configuration), transport: transport)
print(try await manager.send(Get(path: "/item.json")).id)
fflush(nil)
let count = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
if count > 0 {
  var feeds: [Task<Void, any Error>] = []
  let (opened, opening) = AsyncStream<Void>.makeStream()
  for _ in 0..<count {
    feeds.append(
      Task {
        for try await _ in try await manager.stream(Get(path: "/feed")).chunks { opening.yield() }
      })
  }
  var first = opened.makeAsyncIterator()
  for _ in 0..<count { await first.next() }
}
let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
print(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? "")
fflush(nil)
_exit(0)
