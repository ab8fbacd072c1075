import EKNetwork

struct EKNetworkContender: Contender {
  private let manager: NetworkManager
  private let request: Get

  init(url: URL, authorities: URL?) {
    let configuration = URLSessionConfiguration.ephemeral
    let connections = ProcessInfo.processInfo.environment["LOAD_CONNECTIONS"].flatMap { Int($0) }
    configuration.httpMaximumConnectionsPerHost = connections ?? 256
    let base = URL(string: "/", relativeTo: url)?.absoluteURL ?? url
    manager = NetworkManager(
      baseURL: base, session: URLSession(configuration: configuration),
      transport: authorities.map { .secured(by: TLSOptions(certificateAuthorityFile: $0)) } ?? .automatic)
    request = Get(path: url.path)
  }

  func get() async throws -> Item { try await manager.send(request) }

  func stream() async throws -> Int {
    var count = 0
    for try await chunk in try await manager.stream(request).chunks { count += chunk.count }
    return count
  }
}
