#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// A cookie storage writes files: on its own queue, not on a thread of the cooperative pool, which has one per core.
  @Suite struct CookieThreadTests {
    @Test func slowCookieStorageBlocksNoPoolThread() async throws {
      let server = try LoopbackServer()
      server.route("/item") { _ in .status(200, headers: ["Set-Cookie": "a=1"]) }
      server.route("/socket") { request in
        var response = LoopbackServer.Response.webSocket(request) { $0.close(1000) }
        response.headers.append("Set-Cookie", "b=2")
        return response
      }
      let configuration = URLSessionConfiguration.ephemeral
      let storage = try #require(configuration.httpCookieStorage)
      let transport = try #require(CurlTransport(configuration: configuration))
      var options = WebSocketOptions()
      options.cookieStorage = storage
      let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/socket"))
      let plain = server.url("/plain")
      server.route("/plain") { _ in .status(204) }

      // Stands for a slow disk.
      let (isBusy, mayGoOn) = (Gate(), Gate())
      let busy = Task {
        await SessionCookies.files.run {
          isBusy.open()
          mayGoOn.waitBlocking(timeout: .seconds(600))
        }
      }
      #expect(await isBusy.wait())
      let requests = (0..<8).map { _ in
        Task { try await transport.fetch(TransportRequest(URLRequest(url: server.url("/item")))) }
      }
      let sockets = (0..<8).map { [options] _ in Task { try await WebSocket.connect(to: url, options: options) } }
      await server.expectRequests(16)
      // A response without cookies does not wait for the storage.
      for _ in 0..<100 { _ = try await transport.fetch(TransportRequest(URLRequest(url: plain))) }
      #expect(storage.cookies?.isEmpty == true)
      // Cancelling does not wait for it either.
      requests[0].cancel()
      sockets[0].cancel()
      await #expect(throws: CancellationError.self) { _ = try await requests[0].value }
      await #expect(throws: CancellationError.self) { _ = try await sockets[0].value }

      mayGoOn.open()
      await busy.value
      for request in requests.dropFirst() { _ = try await request.value }
      for socket in sockets.dropFirst() { #expect(try await socket.value.receive() == nil) }
      #expect(Set(storage.cookies?.map(\.name) ?? []) == ["a", "b"])
    }
  }
#endif
