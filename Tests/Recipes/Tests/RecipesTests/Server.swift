import EKNetwork
import Hummingbird
import Logging
import ServiceLifecycle

/// Runs a server on a free port while `body` runs.
func withServer<Value: Sendable>(
  _ router: Router<BasicRequestContext>, _ body: @escaping @Sendable (URL) async throws -> Value
) async throws -> Value {
  let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
  var logger = Logger(label: "server")
  logger.logLevel = .error
  let application = Application(
    router: router,
    configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
    onServerRunning: { channel in
      continuation.yield(channel.localAddress?.port ?? 0)
      continuation.finish()
    },
    logger: logger)
  return try await withThrowingTaskGroup(of: Value?.self) { group in
    // Not `run` of a service group, which would handle the signals of the test process.
    group.addTask {
      try? await application.run()
      continuation.finish()
      return nil
    }
    group.addTask {
      var iterator = ports.makeAsyncIterator()
      guard let port = await iterator.next(), let url = URL(string: "http://127.0.0.1:\(port)") else {
        throw URLError(.cannotConnectToHost)
      }
      return try await body(url)
    }
    defer { group.cancelAll() }
    while let value = try await group.next() {
      if let value { return value }
    }
    throw CancellationError()
  }
}

/// A list that several tasks append to.
actor Book<Element: Sendable> {
  private(set) var entries: [Element] = []
  func add(_ entry: Element) { entries.append(entry) }
}

struct Ping: NetworkRequest {
  typealias Response = EmptyResponse
  var path = "/ping"
  var method = HTTPMethod.get
  var retryPolicy = RetryPolicy()
}
