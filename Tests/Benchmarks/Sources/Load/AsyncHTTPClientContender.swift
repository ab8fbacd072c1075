import AsyncHTTPClient
import Foundation
import NIOCore
import NIOSSL

struct AsyncHTTPClientContender: Contender {
  private let client: HTTPClient
  private let url: String

  init(url: URL, authorities: URL?) {
    self.url = url.absoluteString
    var configuration = HTTPClient.Configuration.singletonConfiguration
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
    if let authorities {
      var tls = TLSConfiguration.makeClientConfiguration()
      tls.trustRoots = .file(authorities.path)
      configuration.tlsConfiguration = tls
    }
    client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
  }

  func get() async throws -> Item {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
    guard response.status == .ok else { throw URLError(.badServerResponse) }
    let body = try await response.body.collect(upTo: 1 << 20)
    return try JSONDecoder().decode(Item.self, from: Data(body.readableBytesView))
  }

  func stream() async throws -> Int {
    let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(600))
    var count = 0
    for try await buffer in response.body { count += buffer.readableBytes }
    return count
  }
}
