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
    private func code(of url: URL? = nil, over transport: HTTPTransport? = nil) async -> URLError.Code? {
      let error = await #expect(throws: URLError.self) {
        let request = TransportRequest(URLRequest(url: url ?? self.url, timeoutInterval: 1))
        _ = try await (transport ?? self.transport).fetch(request)
      }
      return error?.code
    }

    /// Calls a function with a number of descriptors left. Those below the first that is free are taken.
    private func withDescriptors<Value>(_ count: Int, _ body: () async -> Value) async -> Value {
      var limits = rlimit()
      #expect(getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      let most = limits
      let next = dup(listener)
      close(next)
      limits.rlim_cur = rlim_t(next) + rlim_t(count)
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      let value = await body()
      limits = most
      #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0)
      return value
    }

    @Test("A lack of descriptors is not blamed on the server, whatever lacks one")
    func everyStage() async throws {
      defer { close(listener) }
      // The event loop has its descriptors from now on.
      #expect(await code() == .timedOut)
      var codes: [URLError.Code?] = []
      repeat {
        codes.append(await withDescriptors(codes.count) { await code() })
      } while codes.last != .timedOut && codes.count < 64
      #expect(codes.count > 1 && codes.last == .timedOut)
      #expect(codes.dropLast().allSatisfy { $0 == .resourceUnavailable }, "\(codes)")
    }

    @Test("A lack of descriptors is not blamed on a file of certificates")
    func certificates() async throws {
      defer { close(listener) }
      let folder = try ScratchFolder()
      let file = try folder.file("ca.pem", Data(SubjectPublicKeyTests.elliptic.utf8))
      let options = ConnectionOptions(tls: TLSOptions(certificateAuthorityFile: file))
      let transport = try #require(
        HTTPTransport(configuration: .ephemeral, options: options, eventLoops: EventLoops(count: 1)))
      let url = try #require(URL(string: url.absoluteString.replacingOccurrences(of: "http:", with: "https:")))
      #expect(await code(of: url, over: transport) == .timedOut)
      // A connection that does not open shares no authorities, which the next one reads once more.
      var codes: [URLError.Code?] = []
      repeat {
        codes.append(await withDescriptors(codes.count) { await code(of: url, over: transport) })
      } while codes.last != .timedOut && codes.count < 64
      #expect(codes.count > 1 && codes.last == .timedOut)
      #expect(codes.dropLast().allSatisfy { $0 == .resourceUnavailable }, "\(codes)")
    }

    @Test("A lack of descriptors is not blamed on a name", arguments: 0..<3)
    func names(count: Int) async throws {
      defer { close(listener) }
      #expect(await code() == .timedOut)
      let url = try #require(URL(string: "http://descriptors-\(count).invalid/"))
      #expect(await withDescriptors(count) { await code(of: url) } == .resourceUnavailable)
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
      #expect(text.contains("Test run with 5 tests in 1 suite passed"), "\(text)")
    }
  }
#endif
