// Client URL [FEEDS [CA.pem]]: prints the decoded value, and the memory in use with that many open feeds.
import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL

struct Item: Decodable, Sendable {
  var id: Int
}

let arguments = CommandLine.arguments
guard arguments.count > 1 else { exit(64) }
let base = arguments[1]
var configuration = HTTPClient.Configuration.singletonConfiguration
configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 2_000
if arguments.count > 3 {
  var tls = TLSConfiguration.makeClientConfiguration()
  tls.trustRoots = .file(arguments[3])
  configuration.tlsConfiguration = tls
}
let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
let response = try await client.execute(HTTPClientRequest(url: base + "/item.json"), timeout: .seconds(60))
guard response.status == .ok else { exit(1) }
let body = try await response.body.collect(upTo: 1 << 20)
print(try JSONDecoder().decode(Item.self, from: Data(body.readableBytesView)).id)
fflush(nil)
let count = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
if count > 0 {
  var feeds: [Task<Void, any Error>] = []
  let (opened, opening) = AsyncStream<Void>.makeStream()
  for _ in 0..<count {
    feeds.append(
      Task {
        let feed = try await client.execute(HTTPClientRequest(url: base + "/feed"), timeout: .seconds(600))
        for try await _ in feed.body { opening.yield() }
      })
  }
  var first = opened.makeAsyncIterator()
  for _ in 0..<count { await first.next() }
}
let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
print(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? "")
fflush(nil)
_exit(0)
