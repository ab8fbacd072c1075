#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  private enum DescriptorShortage {
    static let variable = "EKNETWORK_DESCRIPTOR_TESTS"
    static let isChild = ProcessInfo.processInfo.environment[variable] != nil
  }

  /// Runs in a process of its own, whose other tests would lack descriptors, too.
  @Suite(
    "Requests without descriptors", .serialized, .timeLimit(.minutes(10)), .enabled(if: DescriptorShortage.isChild))
  struct DescriptorShortageTests {
    private let transport: HTTPTransport
    /// Its system accepts connections that nobody serves.
    private let listener: Int32
    private let url: URL

    init() throws {
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = in_addr_t(UInt32(0x7F00_0001).bigEndian)
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let port = withUnsafeMutablePointer(to: &address) { [listener] pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          #expect(bind(listener, address, size) == 0 && listen(listener, 64) == 0)
          #expect(getsockname(listener, address, &size) == 0)
        }
        return UInt16(bigEndian: pointer.pointee.sin_port)
      }
      url = try #require(URL(string: "http://127.0.0.1:\(port)/"))
      transport = try #require(HTTPTransport(configuration: .ephemeral, eventLoops: EventLoops(count: 1)))
    }

    /// The code of a request that is sent to nobody.
    private func code() async -> URLError.Code? {
      let error = await #expect(throws: URLError.self) {
        _ = try await transport.fetch(TransportRequest(URLRequest(url: url, timeoutInterval: 1)))
      }
      return error?.code
    }

    @Test("A lack of descriptors is not blamed on the server, whatever lacks one")
    func everyStage() async throws {
      defer { close(listener) }
      // The event loop has its descriptors from now on.
      #expect(await code() == .timedOut)
      var limits = rlimit()
      #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      let most = limits
      let next = dup(listener)
      close(next)
      var codes: [URLError.Code?] = []
      repeat {
        limits.rlim_cur = rlim_t(next) + rlim_t(codes.count)
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
        codes.append(await code())
        limits = most
        #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      } while codes.last != .timedOut && codes.count < 64
      #expect(codes.count > 1 && codes.last == .timedOut)
      #expect(codes.dropLast().allSatisfy { $0 == .resourceUnavailable }, "\(codes)")
    }

    @Test("Idle connections are closed for one that lacks descriptors")
    func idleConnections() async throws {
      defer { close(listener) }
      let servers = try (0..<8).map { _ in try LoopbackServer() }
      for server in servers {
        server.route("/") { _ in .text("ok") }
        let request = TransportRequest(URLRequest(url: server.url("/"), timeoutInterval: 600))
        #expect(try await transport.fetch(request).data == Data("ok".utf8))
      }
      var limits = rlimit()
      #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      let most = limits
      limits.rlim_cur = 512
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      var taken: [Int32] = []
      while case let descriptor = dup(listener), descriptor >= 0 { taken.append(descriptor) }
      let found = await code()
      for descriptor in taken { close(descriptor) }
      limits = most
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      #expect(found == .timedOut && !taken.isEmpty)
      for server in servers { server.stop() }
    }

    @Test("A part of a download is kept if its note cannot be opened, and not if it has none")
    func noteOfADownload() throws {
      defer { close(listener) }
      let folder = try ScratchFolder()
      let partial = try PartialFile(for: folder["film"])
      var head = DownloadHead(status: 200)
      head.entityTag = "\"v1\""
      try partial.prepare(at: 0, of: Representation(head, of: "film"))
      var limits = rlimit()
      #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      let most = limits
      let next = dup(listener)
      close(next)
      limits.rlim_cur = rlim_t(next)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      let (held, mayBeResumed) = (partial.held, partial.mayBeResumed)
      limits = most
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      #expect(held == nil && mayBeResumed)
      #expect(partial.held != nil && partial.mayBeResumed)
      #expect(unlink(folder[".film.download.json"].path) == 0)
      #expect(!partial.mayBeResumed)
    }
  }

  @Suite(.timeLimit(.minutes(10)), .enabled(if: !DescriptorShortage.isChild))
  struct DescriptorShortageProcessTests {
    @Test("Without descriptors, requests say so")
    func child() async throws {
      let (status, text) = try await ChildProcess.run(
        suite: "DescriptorShortageTests", environment: [DescriptorShortage.variable: "1"])
      #expect(status == 0)
      #expect(text.contains("Test run with 3 tests in 1 suite passed"), "\(text)")
    }
  }
#endif
