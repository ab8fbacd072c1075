import Foundation
import Testing

@testable import EKNetwork

@Suite struct RedactionTests {
  @Test(arguments: [
    ("https://api.example.com", "https://api.example.com"),
    ("https://api.example.com:8443/v1/users/42", "https://api.example.com:8443/v1/users/42"),
    ("https://user:secret@example.com/a#secret", "https://example.com/a"),
    ("https://example.com/a?token=secret&q=secret%20x", "https://example.com/a?token=<redacted>&q=<redacted>"),
    ("https://example.com/a?secret", "https://example.com/a?<redacted>"),
    ("https://example.com/a?a=b=secret&secret&=secret", "https://example.com/a?a=<redacted>&<redacted>&=<redacted>"),
    ("https://example.com/a?", "https://example.com/a?"),
    ("https://example.com/a;jsessionid=secret/b;secret", "https://example.com/a;jsessionid=<redacted>/b;<redacted>"),
    ("https://example.com/a%0D%0AX%20b", "https://example.com/a%0D%0AX%20b"),
    ("http://[::1]:80/x?k=secret", "http://[::1]:80/x?k=<redacted>"),
    ("data:text/plain,secret", "data:<redacted>"),
    ("mailto:secret@example.com", "mailto:<redacted>"),
    ("/relative?x=secret", "/relative?x=<redacted>"),
  ])
  func onlySecretsAreRedacted(_ text: String, _ expected: String) throws {
    let url = try #require(URL(string: text))
    #expect(url.redactedForLog == expected)
    #expect(!url.redactedForLog.contains("secret"))
  }

  @Test func relativeURLIsResolved() throws {
    let url = try #require(URL(string: "b?k=secret", relativeTo: URL(string: "https://example.com/a/")))
    #expect(url.redactedForLog == "https://example.com/a/b?k=<redacted>")
  }

  @Test func longURLIsTruncated() throws {
    let url = try #require(URL(string: "https://example.com/" + String(repeating: "a", count: 100_000)))
    #expect(url.redactedForLog.count < 1100)
  }

  @Test func errorsShowOnlyTheirKind() {
    struct Leaky: LocalizedError {
      var token = "secret"
      var errorDescription: String? { "secret" }
    }
    let table: [(any Error, String)] = [
      (URLError(.timedOut, userInfo: [NSLocalizedDescriptionKey: "https://secret"]), "URLError -1001"),
      (HTTPError(statusCode: 503, data: Data("secret".utf8), headers: ["X": "secret"]), "HTTPError 503"),
      (NetworkError.unauthorized, "NetworkError unauthorized"),
      (CancellationError(), "CancellationError"),
      (Leaky(), "Leaky 1"),
    ]
    for (error, expected) in table { #expect(error.redactedForLog == expected) }
  }
}
