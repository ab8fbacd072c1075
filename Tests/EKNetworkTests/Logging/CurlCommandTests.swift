import Foundation
import LoopbackServer
import Testing

@testable import EKNetwork

struct CurlCommandTests {
  private func request(_ method: String = "GET", _ body: String? = nil) throws -> URLRequest {
    var request = URLRequest(url: try #require(URL(string: "https://a.example/p?token=t&q=1")))
    request.httpMethod = method
    request.httpBody = body.map { Data($0.utf8) }
    return request
  }

  @Test func secretsAreRedacted() throws {
    var request = try request("POST", "password=p")
    request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
    request.setValue("k", forHTTPHeaderField: "X-Api-Key")
    request.setValue("a/b", forHTTPHeaderField: "Content-Type")
    #expect(
      request.curlCommand()
        == "curl --header 'Authorization: <redacted>' --header 'Content-Type: a/b' --header 'X-Api-Key: <redacted>' "
        + "--data-binary '<redacted: 10 bytes>' 'https://a.example/p?token=<redacted>&q=<redacted>'")
  }

  @Test(arguments: [
    ("http+unix://%2Frun%2Fa%20b.sock/p?q=1", "--unix-socket '/run/a b.sock' 'http://localhost/p?q=1'"),
    ("HTTP+unix://%40name", "--abstract-unix-socket 'name' 'http://localhost'"),
  ])
  func socketIsAnOption(_ url: String, _ words: String) throws {
    let request = URLRequest(url: try #require(URL(string: url)))
    #expect(request.curlCommand(revealingSecrets: true) == "curl " + words)
  }

  @Test func queryOfRefererIsRedacted() throws {
    var request = try request()
    request.setValue("https://a.example/q?token=secret", forHTTPHeaderField: "Referer")
    #expect(!request.curlCommand().contains("secret"))
    #expect(request.curlCommand().contains("--header 'Referer: https://a.example/q?token=<redacted>'"))
    #expect(request.curlCommand(revealingSecrets: true).contains("token=secret"))
  }

  @Test func secretsAreRevealedOnRequest() throws {
    var request = try request("PUT", "it's")
    request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
    #expect(
      request.curlCommand(revealingSecrets: true)
        == "curl --request 'PUT' --header 'Authorization: Bearer t' --header 'Content-Type:' "
        + "--data-binary 'it'\\''s' 'https://a.example/p?token=t&q=1'")
    #expect(
      try self.request("HEAD").curlCommand(revealingSecrets: true) == "curl --head 'https://a.example/p?token=t&q=1'")
  }

  /// RFC 9110 §8.6: a server may require the length (411) of a method that usually has content.
  @Test(arguments: ["POST", "PUT", "PATCH", "QUERY", "DELETE", "OPTIONS"])
  func lengthOfNoContentIsStated(_ method: String) throws {
    let isUsual = !["DELETE", "OPTIONS"].contains(method)
    let words =
      (method == "POST" ? "" : "--request '\(method)' ") + (isUsual ? "--header 'Content-Type:' --data-binary '' " : "")
    for reveals in [true, false] {
      let query = reveals ? "token=t&q=1" : "token=<redacted>&q=<redacted>"
      #expect(
        try request(method).curlCommand(revealingSecrets: reveals) == "curl \(words)'https://a.example/p?\(query)'")
    }
  }

  /// A Content-Length other than that of the body shown would make curl, or the server, wait.
  @Test func contentLengthIsOmittedAndFileIsNamed() throws {
    let folder = try ScratchFolder()
    let file = try folder.file("it's", Data("body".utf8))
    let manager = NetworkManager(baseURL: try #require(URL(string: "https://a.example")))
    var probe = Probe<EmptyResponse>(path: "/p", method: .post, body: RequestBody(file: file, contentType: "a/b"))
    let command = try manager.curlCommand(for: probe, revealingSecrets: true)
    #expect(command.hasSuffix("--data-binary '@\(folder.url.path)/it'\\''s' 'https://a.example/p'"))
    #expect(!command.contains("Content-Length"))
    #expect(try manager.curlCommand(for: probe).contains("--data-binary @- "))
    probe.body = RequestBody(data: Data(count: 160), contentType: "a/b")
    #expect(try !manager.curlCommand(for: probe).contains("Content-Length"))
  }

  @Test func managerShowsRequestItWouldSend() throws {
    let url = try #require(URL(string: "https://a.example/base"))
    let manager = NetworkManager(baseURL: url)
    let command = try manager.curlCommand(
      for: ItemProbe(method: .delete), accessToken: { "t" }, revealingSecrets: true)
    #expect(command.hasPrefix("curl --request 'DELETE' "))
    #expect(command.contains("--header 'Authorization: Bearer t'"))
    #expect(command.hasSuffix(" 'https://a.example/base/item'"))
    #expect(throws: NetworkError.invalidURL) { try manager.curlCommand(for: ItemProbe(path: "/../x")) }
  }

  #if os(Linux)
    /// Where curl is installed, it sends what the library sends.
    @Test(
      .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")),
      arguments: [
        "plain", "@file", "quotes ' \" $HOME `x` \\ \n!", "nul \0 and \u{7f}", "",
        String(repeating: "longer than an argument may be ", count: 5_000), nil,
      ])
    func curlSendsTheSame(_ body: String?) async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      server.fallback = { _ in .text("") }
      var request = URLRequest(url: server.url("/p?a=b%27c"))
      request.httpMethod = "POST"
      request.httpBody = body.map { Data($0.utf8) }
      request.setValue("it's \"so\" $HOME", forHTTPHeaderField: "X-A")
      request.setValue("", forHTTPHeaderField: "X-Empty")
      let command = request.curlCommand(revealingSecrets: true)
      // Without the libcurl that the tests may run with: the system's `curl` may not start with it.
      let folder = try ScratchFolder()
      let script = try folder.file("script", Data("unset LD_LIBRARY_PATH\n\(command)".utf8))
      let shell = try ChildProcess("/bin/sh", [script.path], hidesErrors: true)
      shell.waitUntilExit()
      withExtendedLifetime(folder) {}
      let sent = try #require(server.requests.first)
      #expect(sent.method == "POST")
      #expect(sent.target == "/p?a=b%27c")
      #expect(sent.body == Data((body ?? "").utf8))
      #expect(sent.headers["Content-Length"] == "\(sent.body.count)")
      #expect(sent.headers["X-A"] == "it's \"so\" $HOME")
      #expect(sent.headers["X-Empty"] == "")
      #expect(sent.headers["Content-Type"] == nil)
    }
  #endif
}
