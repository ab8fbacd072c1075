import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct URLSessionContender: Contender {
  private let session: URLSession
  private let url: URL

  init(url: URL) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = 256
    session = URLSession(configuration: configuration)
    self.url = url
  }

  func get() async throws -> Item {
    let (data, response) = try await session.data(for: URLRequest(url: url))
    guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
    return try JSONDecoder().decode(Item.self, from: data)
  }

  func stream() async throws -> Int {
    try await session.data(for: URLRequest(url: url)).0.count
  }
}
