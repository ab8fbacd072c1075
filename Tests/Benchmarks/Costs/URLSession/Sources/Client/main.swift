// Client URL [FEEDS]: prints the decoded value, and the memory in use with that many open feeds.
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct Item: Decodable, Sendable {
  var id: Int
}

final class Feeds: NSObject, URLSessionDataDelegate {
  let opening: AsyncStream<Void>.Continuation
  init(_ opening: AsyncStream<Void>.Continuation) { self.opening = opening }
  func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) { opening.yield() }
}

let arguments = CommandLine.arguments
guard arguments.count > 1, let url = URL(string: arguments[1] + "/item.json"),
  let feed = URL(string: arguments[1] + "/feed")
else { exit(64) }
let configuration = URLSessionConfiguration.ephemeral
configuration.httpMaximumConnectionsPerHost = 2_000
let (data, _) = try await URLSession(configuration: configuration).data(from: url)
print(try JSONDecoder().decode(Item.self, from: data).id)
fflush(nil)
let count = arguments.count > 2 ? Int(arguments[2]) ?? 0 : 0
if count > 0 {
  let (opened, opening) = AsyncStream<Void>.makeStream()
  let session = URLSession(configuration: configuration, delegate: Feeds(opening), delegateQueue: nil)
  for _ in 0..<count { session.dataTask(with: feed).resume() }
  var first = opened.makeAsyncIterator()
  for _ in 0..<count { await first.next() }
}
let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
print(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? "")
fflush(nil)
_exit(0)
