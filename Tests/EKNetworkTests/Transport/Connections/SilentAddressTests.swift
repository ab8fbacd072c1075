#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// Names of which an address does not respond to those that connect to it.
  @Suite(.timeLimit(.minutes(5))) struct SilentAddressTests {
    private static let name = "elsewhere.invalid"
    private let server: LoopbackServer
    private let port: Int
    private let silent: SilentListener
    private var both: ConnectionOptions { ConnectionOptions(addresses: [Self.name: ["127.0.0.2", "127.0.0.1"]]) }

    init() throws {
      server = try LoopbackServer()
      server.route("/") { _ in .text("ok") }
      port = try #require(server.url("/").port)
      silent = try SilentListener(port: port)
    }

    private func request(timeout: TimeInterval) throws -> TransportRequest {
      let url = try #require(URL(string: "http://\(Self.name):\(port)/"))
      return TransportRequest(URLRequest(url: url, timeoutInterval: timeout))
    }

    @Test("The next address of the same family is tried before the request's time is over")
    func timeout() async throws {
      let transport = try #require(HTTPTransport(configuration: .ephemeral, options: both))
      let response = try await transport.fetch(try request(timeout: 5))
      #expect(response.data == Data("ok".utf8))
    }

    @Test("The next address of the same family is tried before the connection's time is over")
    func connectTimeout() async throws {
      var options = both
      options.connectTimeout = .seconds(5)
      let transport = try #require(HTTPTransport(configuration: .ephemeral, options: options))
      let response = try await transport.fetch(try request(timeout: 600))
      #expect(response.data == Data("ok".utf8))
    }

    @Test("The next address of the same family is tried for a WebSocket")
    func webSocket() async throws {
      var options = WebSocketOptions()
      options.useConnectionOptions(both)
      options.connectTimeout = .seconds(5)
      let endpoint = try ByteTransportEndpoint(host: Self.name, port: port, isSecure: false, options: options)
      let transport = try ByteTransports.make(endpoint, options)
      try await transport.open()
      transport.cancel()
    }

    /// That one waits for less than libcurl's least limit.
    @Test(
      "A request is not ended by the limit of a connection that is being opened for another one",
      .enabled(if: TransportDescription.current.capabilities.contains("http2")))
    func joined() async throws {
      let options = ConnectionOptions(httpVersion: .http2, addresses: [Self.name: ["127.0.0.2"]])
      let transport = try #require(HTTPTransport(configuration: .ephemeral, options: options))
      let (short, long) = (try request(timeout: 1), try request(timeout: 4))
      // The sockets that fill the listener's queue.
      let before = connectingSockets(to: port)
      let isOver = Locked(false)
      let first = Task {
        defer { isOver.withLock { $0 = true } }
        return try await transport.fetch(short)
      }
      while connectingSockets(to: port) <= before, !isOver.withLock({ $0 }) { await Task.yield() }
      let start = ContinuousClock.now
      let error = await #expect(throws: URLError.self) { try await transport.fetch(long) }
      #expect(error?.code == .timedOut)
      // The timeout counts from the beginning of the turn in which the request begins, which takes long under a sanitizer.
      #expect(ContinuousClock.now - start >= .milliseconds(3_500))
      do {
        _ = try await first.value
        Issue.record("Nothing is there")
      } catch {
        #expect((error as? URLError)?.code == .timedOut)
      }
    }

    /// Half of it is for the first address: it has to be less than the wait, and the whole has to be more.
    @Test("libcurl's limit is between the wait and twice the wait, unless that is short or endless")
    func limit() {
      for seconds in [2, 5, 60, 3_600] as [UInt64] {
        let limit = UInt64(CurlHandles.limit(for: seconds * 1_000_000_000))
        #expect(limit > seconds * 1_000 && limit < 2 * seconds * 1_000)
      }
      #expect(CurlHandles.limit(for: 0) == 2_000)
      #expect(CurlHandles.limit(for: .max) == 24 * 3_600 * 1_000)
    }
  }

  /// A listener on 127.0.0.2 whose backlog is full: the system drops what else arrives for it.
  private final class SilentListener {
    private var descriptors: [Int32] = []

    init(port: Int) throws {
      let listener = try open()
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = UInt16(port).bigEndian
      address.sin_addr.s_addr = in_addr_t(0x7F00_0002).bigEndian
      withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          let length = socklen_t(MemoryLayout<sockaddr_in>.size)
          #expect(bind(listener, pointer, length) == 0)
          #expect(listen(listener, 0) == 0)
          for descriptor in (0..<4).compactMap({ _ in try? open() }) { _ = connect(descriptor, pointer, length) }
        }
      }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }

    private func open() throws -> Int32 {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
      try #require(descriptor >= 0)
      descriptors.append(descriptor)
      return descriptor
    }
  }
#endif
