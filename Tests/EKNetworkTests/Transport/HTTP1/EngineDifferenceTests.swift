#if os(Linux)
  import Foundation
  import LoopbackServer
  import Testing

  @testable import EKNetwork

  /// The same responses, received by the library's own HTTP/1.1 and by libcurl's: every difference has a reason.
  @Suite(.timeLimit(.minutes(10))) struct EngineDifferenceTests {
    private static let loops = CurlEventLoops(count: 1)

    /// The status line, the fields and the body of each kind that a server may send, in every combination.
    private static let combinations: [(name: String, text: String)] = {
      let framings: [(name: String, fields: [String], body: String)] = [
        ("no length", [], "ok"), ("length", ["Content-Length: 2"], "ok"),
        ("short body", ["Content-Length: 3"], "ok"), ("long body", ["Content-Length: 2"], "okHTTP/1.1 200 OK\r\n\r\n"),
        ("empty", ["Content-Length: 0"], ""), ("chunked", ["Transfer-Encoding: chunked"], "2\r\nok\r\n0\r\n\r\n"),
        ("trailers", ["Transfer-Encoding: Chunked"], "1\r\no\r\n1;a=b\r\nk\r\n000\r\nA: b\r\n\r\n"),
        ("chunks cut short", ["Transfer-Encoding: chunked"], "2\r\nok\r\n"),
        ("no empty line after the last chunk", ["Transfer-Encoding: chunked"], "2\r\nok\r\n0\r\n"),
        ("both", ["Content-Length: 9", "Transfer-Encoding: chunked"], "2\r\nok\r\n0\r\n\r\n"),
        ("identity", ["Transfer-Encoding: identity", "Content-Length: 2"], "ok"),
        ("identity without length", ["Transfer-Encoding: identity"], "ok"),
      ]
      var found: [(name: String, text: String)] = []
      for version in ["1.0", "1.1"] {
        for status in [200, 204, 205, 304, 404, 500] {
          for (end, endName) in [("\r\n", "CRLF"), ("\n", "LF")] {
            for interim in end == "\n" ? [""] : ["", "100", "103"] {
              for framing in framings {
                let head = ["HTTP/\(version) \(status) A"] + framing.fields + ["", ""]
                let first = interim.isEmpty ? "" : "HTTP/\(version) \(interim) A\(end)B: c\(end)\(end)"
                found.append(
                  (
                    "\(version) \(status) \(framing.name), \(interim) \(endName)",
                    first + head.joined(separator: end) + framing.body
                  ))
              }
            }
          }
        }
      }
      return found
    }()

    /// The responses that some version of libcurl understands differently, and why the library does not.
    private static let explained: Set<String> = [
      // RFC 9112 §7.1: a size ends with its line, or with an extension. libcurl stops at the first other byte, with another
      // error or none.
      "size with 0x", "blank within size", "no hexadecimal digit", "size with a fraction", "NUL behind size",
      "two CR behind size", "bare CR in extension",
      // RFC 9112 §6.3: a coding overrides a length, even an invalid one, and the connection is not used again.
      "both framings, one invalid",
      // RFC 9112 §6.3: chunked is the last coding, and is applied once. libcurl decodes it once nevertheless.
      "chunked twice", "chunked twice, in two fields", "chunked is not last",
      // RFC 9112 §5.2: a folded line continues the value before it. libcurl before 8.21 reads the first line only, 7.88
      // refuses one that follows no field, and 8.21 those of trailers.
      "length on a folded line", "coding on a folded line", "codings on folded lines", "folded line first",
      "folded trailer", "folded line first in the trailers",
      // RFC 9112 §5.1: blanks before the colon are removed. To libcurl, a tab is part of the name.
      "tab before colon of coding",
      // RFC 9112 §5: every line has a colon. libcurl before 7.88 keeps the others.
      "line without a colon", "trailer without a colon", "response as trailers",
      // RFC 9112 §4: a status has three digits. Some versions of libcurl ignore a fourth.
      "status of four digits",
      // A response of an impossible version is no lost connection.
      "version 2", "version 3",
    ]

    @Test func responsesMeanTheSameToLibcurl() async throws {
      let server = try LoopbackServer()
      defer { server.stop() }
      let replies = Self.combinations + ResponseSmugglingTests.attacks.map { ($0.name, $0.text) }
      server.fallback = { request in
        guard let index = Int(request.path.dropFirst()), replies.indices.contains(index) else { return .status(500) }
        return .raw([.send(Data(replies[index].text.utf8))])
      }
      let (own, other) = (try transport(true), try transport(false))
      await withTaskGroup(of: Void.self) { group in
        // Several at once: each waits for the server, and for other tests.
        for first in 0..<6 {
          group.addTask {
            for index in stride(from: first, to: replies.count, by: 6) {
              let url = server.url("/\(index)")
              let (ours, theirs) = (await Self.outcome(of: own, url), await Self.outcome(of: other, url))
              #expect(ours == theirs || Self.explained.contains(replies[index].name), "\(replies[index].name)")
            }
          }
        }
      }
      #expect(replies.count > 600 && Self.explained.allSatisfy { name in replies.contains { $0.name == name } })
    }

    private func transport(_ speaksHTTP1: Bool) throws -> CurlTransport {
      try #require(CurlTransport(configuration: .ephemeral, eventLoops: Self.loops, speaksHTTP1: speaksHTTP1))
    }

    private static func outcome(of transport: CurlTransport, _ url: URL) async -> String {
      do {
        let response = try await transport.fetch(TransportRequest(URLRequest(url: url)))
        let head = response.head.urlResponse as? HTTPURLResponse
        let fields = (head?.allHeaderFields ?? [:]).map { "\($0)=\($1)" }.sorted()
        return "\(response.head.statusCode ?? 0) \(String(decoding: response.data, as: UTF8.self)) \(fields)"
      } catch let error as URLError {
        return "error \(error.code.rawValue)"
      } catch {
        return "\(error)"
      }
    }
  }
#endif
