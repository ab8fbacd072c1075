#if os(Linux)
  import Foundation
  import FoundationNetworking
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// A storage with a file, which is removed at the end.
  private final class StorageWithFile {
    let storage: HTTPCookieStorage
    let file: URL

    init() throws {
      let name = UUID().uuidString
      storage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: name)
      file = URL(fileURLWithPath: try #require(CookieFolder.path)).appendingPathComponent(CookieFolder.prefix + name)
    }

    deinit { try? FileManager.default.removeItem(at: file) }

    var configuration: URLSessionConfiguration {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpCookieStorage = storage
      return configuration
    }

    var permissions: mode_t {
      var status = stat()
      return lstat(file.path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
  }

  /// The jar in memory, and the storage that is written behind it.
  struct CookieJarTests {
    private func transport(_ configuration: URLSessionConfiguration) throws -> HTTPTransport {
      try #require(HTTPTransport(configuration: configuration))
    }

    /// The `Cookie` field of a request to the host of `example.com`.
    private func sent(_ cookies: SessionCookies) throws -> Set<String> {
      var request = HTTPRequest(url: try #require(URL(string: "https://example.com/")))
      cookies.apply(to: &request)
      return Set(request.value("cookie")?.components(separatedBy: "; ") ?? [])
    }

    private func store(_ lines: [String], _ cookies: SessionCookies) throws {
      cookies.store(setCookieLines: lines, for: try #require(URL(string: "https://example.com/")))
    }

    private func foreign(_ name: String, _ value: String = "1") throws -> HTTPCookie {
      try #require(HTTPCookie(properties: [.name: name, .value: value, .domain: "example.com", .path: "/"]))
    }

    /// Foundation writes the whole file for each cookie.
    @Test func slowStorageDelaysNoResponse() async throws {
      let server = try LoopbackServer()
      server.route("/item") { _ in
        .status(200, headers: HeaderFields((0..<180).map { .init("Set-Cookie", "n\($0)=1; Max-Age=86400") }))
      }
      server.route("/plain") { _ in .status(204) }
      server.route("/socket") { request in
        var response = LoopbackServer.Response.webSocket(request) { $0.close(1000) }
        response.headers.append("Set-Cookie", "b=2")
        return response
      }
      let disk = try StorageWithFile()
      let jar = CookieJar.of(disk.storage)
      let queue = try #require(jar.queue)
      // Stands for a slow disk.
      let (isBusy, mayGoOn) = (Gate(), Gate())
      queue.start {
        isBusy.open()
        mayGoOn.waitBlocking(timeout: .seconds(600))
      }
      #expect(await isBusy.wait())
      let transport = try transport(disk.configuration)
      _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/item"))))
      var options = WebSocketOptions()
      options.cookieStorage = disk.storage
      let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/socket"))
      #expect(try await WebSocket.connect(to: url, options: options).receive() == nil)
      #expect(disk.storage.cookies?.isEmpty == true)
      // The next request of any session of that storage sends them.
      let hop = try HopRequest(URLRequest(url: server.url("/plain")), session: SessionSettings(disk.configuration))
      let cookies = try #require(hop.sent.urlRequest.value(forHTTPHeaderField: "Cookie"))
      #expect(cookies.components(separatedBy: "; ").count == 180 && cookies.contains("b=2"))
      mayGoOn.open()
      await queue.run {}
      #expect(disk.storage.cookies?.count == 180)
      #expect(disk.permissions == 0o600)
      server.stop()
    }

    /// The program may end as soon as it has its response.
    @Test func whatWasReceivedBeforeTheExitIsWritten() async throws {
      await #expect(processExitsWith: .success) {
        let name = "exit-\(getppid())"
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpCookieStorage = HTTPCookieStorage.sharedCookieStorage(forGroupContainerIdentifier: name)
        let lines = (0..<16).map { "n\($0)=1; Max-Age=86400" }
        let url = try #require(URL(string: "https://example.com/"))
        SessionCookies(configuration: configuration).store(setCookieLines: lines, for: url)
        exit(0)
      }
      let folder = URL(fileURLWithPath: try #require(CookieFolder.path))
      let file = folder.appendingPathComponent("\(CookieFolder.prefix)exit-\(getpid())")
      let list = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
      #expect((list as? [String: Any])?.count == 16)
      try FileManager.default.removeItem(at: file)
    }

    /// What other code puts into the storage or deletes from it, in memory and with a file.
    @Test(arguments: [false, true]) func changesOfOtherCodeAreSeen(_ hasFile: Bool) async throws {
      let disk = try StorageWithFile()
      let configuration = hasFile ? disk.configuration : .ephemeral
      let storage = try #require(configuration.httpCookieStorage)
      let cookies = SessionCookies(configuration: configuration)
      let settle = { await CookieJar.of(storage).queue?.run {} }
      #expect(try sent(cookies).isEmpty)
      storage.setCookie(try foreign("theirs"))
      #expect(try sent(cookies) == ["theirs=1"])
      try store(["own=1"], cookies)
      #expect(try sent(cookies) == ["theirs=1", "own=1"])
      await settle()
      #expect(Set(storage.cookies?.map(\.name) ?? []) == ["theirs", "own"])
      storage.setCookie(try foreign("own", "2"))
      storage.deleteCookie(try foreign("theirs"))
      #expect(try sent(cookies) == ["own=2"])
      try store(["own=; Max-Age=0", "more=1"], cookies)
      #expect(try sent(cookies) == ["more=1"])
      await settle()
      #expect(storage.cookies?.map(\.name) == ["more"])
      for cookie in storage.cookies ?? [] { storage.deleteCookie(cookie) }
      #expect(try sent(cookies).isEmpty)
      try store(["more=2"], cookies)
      #expect(try sent(cookies) == ["more=2"])
      await settle()
      #expect(storage.cookies?.map(\.value) == ["2"])
    }

    /// A login of other code while the storage is being written.
    @Test func changeOfOtherCodePrevailsOverWhatIsNotWritten() async throws {
      let disk = try StorageWithFile()
      let cookies = SessionCookies(configuration: disk.configuration)
      let queue = try #require(CookieJar.of(disk.storage).queue)
      try store(["user=old", "gone=1"], cookies)
      await queue.run {}
      let (isBusy, mayGoOn) = (Gate(), Gate())
      queue.start {
        isBusy.open()
        mayGoOn.waitBlocking(timeout: .seconds(600))
      }
      #expect(await isBusy.wait())
      try store(["last=1"], cookies)
      disk.storage.setCookie(try foreign("user", "theirs"))
      disk.storage.deleteCookie(try foreign("gone"))
      mayGoOn.open()
      await queue.run {}
      #expect(try sent(cookies) == ["user=theirs", "last=1"])
      #expect(Set(disk.storage.cookies?.map(\.value) ?? []) == ["theirs", "1"])
    }

    /// A logout, or a login, of other code before a cookie with the same name is written.
    @Test(arguments: ["user=new", "user=; Max-Age=0"])
    func changeOfOtherCodePrevailsForTheSameCookie(_ line: String) async throws {
      let disk = try StorageWithFile()
      let cookies = SessionCookies(configuration: disk.configuration)
      let queue = try #require(CookieJar.of(disk.storage).queue)
      try store(["user=old"], cookies)
      await queue.run {}
      let isRemoved = line == "user=new"
      let (isBusy, mayGoOn) = (Gate(), Gate())
      queue.start {
        isBusy.open()
        mayGoOn.waitBlocking(timeout: .seconds(600))
      }
      #expect(await isBusy.wait())
      try store([line], cookies)
      if isRemoved {
        disk.storage.deleteCookie(try foreign("user"))
      } else {
        disk.storage.setCookie(try foreign("user", "theirs"))
      }
      mayGoOn.open()
      await queue.run {}
      #expect(try sent(cookies) == (isRemoved ? [] : ["user=theirs"]))
      #expect(disk.storage.cookies?.map(\.value) == (isRemoved ? [] : ["theirs"]))
    }

    /// A cookie that the storage contains already costs no write of its file.
    @Test(arguments: [
      ("a=1; Max-Age=3600", "a=1; Max-Age=3600", false), ("a=1", "a=1", false),
      ("a=1; Max-Age=3600", "a=1; Max-Age=3800", false), ("a=1; Max-Age=3600", "a=1; Max-Age=7200", true),
      ("a=1; Max-Age=3600", "a=1; Max-Age=3000", true), ("a=1", "a=1; Max-Age=3600", true),
      ("a=1; Max-Age=3600", "a=1", true), ("a=1", "a=2", true), ("a=1", "a=1; HttpOnly", true),
      ("a=1", "a=1; Secure", true), ("a=1", "a=1; SameSite=Lax", true),
    ])
    func unchangedCookieIsNotWritten(_ first: String, _ second: String, _ isWritten: Bool) throws {
      let configuration = URLSessionConfiguration.ephemeral
      let cookies = SessionCookies(configuration: configuration)
      try store([first], cookies)
      let before = try #require(configuration.httpCookieStorage?.cookies?.first)
      try store([second], cookies)
      #expect((configuration.httpCookieStorage?.cookies?.first !== before) == isWritten)
    }

    @Test(arguments: [false, true]) func hundredAtOnceWithRandomCancellation(_ hasFile: Bool) async throws {
      let server = try LoopbackServer()
      server.fallback = { .status(200, headers: ["Set-Cookie": "n\($0.path.dropFirst())=1; Max-Age=86400; Path=/"]) }
      let disk = try StorageWithFile()
      let configuration = hasFile ? disk.configuration : .ephemeral
      let storage = try #require(configuration.httpCookieStorage)
      let transport = try transport(configuration)
      let done = await withTaskGroup(of: Int?.self) { group in
        for number in 0..<100 {
          let task = Task {
            _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/\(number)"))))
            // It is in the jar as soon as the response is here.
            let hop = try HopRequest(URLRequest(url: server.url("/")), session: SessionSettings(configuration))
            #expect(hop.sent.urlRequest.value(forHTTPHeaderField: "Cookie")?.contains("n\(number)=1") == true)
            return number
          }
          if Int.random(in: 0..<4) == 0 { task.cancel() }
          group.addTask { try? await task.value }
        }
        return await group.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
      }
      await CookieJar.of(storage).queue?.run {}
      #expect(Set((storage.cookies ?? []).map(\.name)).isSuperset(of: done.map { "n\($0)" }))
      server.stop()
    }

    private static let pairs: [(String, [UInt8])] = [
      ("caf\u{E9}", [0x61, 0x3D, 0x63, 0x61, 0x66, 0xE9]), ("é", [0x61, 0x3D, 0xC3, 0xA9]),
      ("\u{C3}\u{A9} \u{E9}", [0x61, 0x3D, 0xC3, 0xA9, 0x20, 0xE9]),
      // The UTF-8 of a character that stands for a byte.
      ("\u{F4}\u{8F}\u{BF}\u{A9}", [0x61, 0x3D, 0xF4, 0x8F, 0xBF, 0xA9]),
    ]

    /// RFC 6265bis §5.6: a cookie is a sequence of bytes. So it is after a restart.
    @Test(arguments: pairs)
    func cookieIsReturnedWithItsBytes(_ value: String, _ pair: [UInt8]) async throws {
      let server = try LoopbackServer()
      server.route("/socket") { .webSocket($0) { $0.close(1000) } }
      server.route("/set") { _ in
        .raw([.send(Data("HTTP/1.1 204 No Content\r\nSet-Cookie: ".utf8) + pair + Data("; Path=/\r\n\r\n".utf8))])
      }
      server.route("/get") { _ in .status(204) }
      let configuration = URLSessionConfiguration.ephemeral
      let storage = try #require(configuration.httpCookieStorage)
      let transport = try transport(configuration)
      _ = try await transport.fetch(TransportRequest(URLRequest(url: server.url("/set"))))
      let stored = try #require(storage.cookies?.first)
      #expect(stored.value == value)
      storage.deleteCookie(stored)
      let properties = try #require(stored.properties)
      storage.setCookie(try #require(HTTPCookie(properties: properties)))
      let hop = try HopRequest(URLRequest(url: server.url("/get")), session: SessionSettings(configuration))
      _ = try await transport.fetch(TransportRequest(hop))
      var options = WebSocketOptions()
      options.cookieStorage = storage
      let url = try #require(URL(string: "ws://127.0.0.1:\(server.port)/socket"))
      _ = try await WebSocket.connect(to: url, options: options).receive()
      for request in server.requests.dropFirst() {
        #expect(request.head.range(of: Data("Cookie: ".utf8) + pair + Data("\r\n".utf8)) != nil)
      }
      server.stop()
    }
  }
#endif
