import Foundation
import Testing

@testable import EKNetwork

struct RedactionTests {
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
    ("mailto:secret@example.com", "mailto:<redacted>"), ("https:/me:secret@example.com/", "https:<redacted>"),
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

  /// Whatever an app prints, or looks into, wherever it is inside of something else.
  @Test func printedValuesHaveNoSecrets() throws {
    let url = try #require(URL(string: "https://me:sesame@example.com/a?key=sesame"))
    let (headers, file) = (["X-Key": "sesame"], URL(fileURLWithPath: "/tmp/a"))
    let fields: HeaderFieldList = ["X-Key": "sesame"]
    let response = NetworkResponse(statusCode: 200, headerFields: fields, data: Data("sesame".utf8), url: url)
    var request = URLRequest(url: url)
    request.httpMethod = "PUT"
    request.allHTTPHeaderFields = headers
    var defaults = RequestDefaults()
    defaults.headers = headers
    let shown = "https://example.com/a?key=<redacted>"
    let id = UUID()
    let values: [(Any, String)] = [
      (response, "\(shown), status 200; 6 bytes"),
      (DecodedResponse(value: "sesame", headerFields: fields, url: url), "\(shown), status 200; String"),
      (StatusCodeResponse(statusCode: 204, headers: headers), "status 204"),
      (InterimResponse(statusCode: 103, headerFields: fields), "status 103"),
      (StreamingResponse(statusCode: 200, headers: headers, source: BufferedBody(Data())), "status 200"),
      (NetworkMiddlewareResponse(statusCode: 200, headers: headers), "status 200"),
      (DownloadedFile(url: file, size: 3, headers: headers), "/tmp/a, 3 bytes, status 200"),
      (UploadedFile(url: url, size: 3, response: response), "\(shown), 3 bytes, status 200"),
      (PrismQueuedRequest(id: id, urlRequest: request), "\(id): PUT \(shown), 0 failed attempts"),
      (Endpoint<Data>("a", query: ["key": "sesame"], headers: headers), "GET a"),
      (Endpoint<Data>("", targetURL: url), "GET \(shown)"),
      (defaults, "RequestDefaults(headers: [\"X-Key\"])"),
      (PrismCacheEntry(data: Data(), headers: headers), "status 200; 0 bytes"),
      (HTTPError(statusCode: 404, data: Data(), headers: headers), "Request failed with status code 404: 0 bytes"),
      (PrismNetworkFailure(.serverError, url: url, headers: headers), ""),
      (WebSocketError.refused(status: 401, headers: headers), "The server refused the WebSocket with status 401"),
      (WebSocketError.connectionLost(reason: "a\nb"), "The WebSocket connection was lost: a b"),
      (DownloadError.notAFileURL(url), "\(shown) is not a file URL"),
      (UploadError.invalidLocation("sesame"), "The server's location of the upload cannot be used"),
      (ResponseLimitError(limit: .size(1), url: url), ""),
      (ConnectionOptions.Proxy.http(host: "proxy", port: 1, user: "me", password: "sesame"), ""),
      (TLSOptions.ClientCertificate(certificateFile: file, keyFile: file, keyPassword: "sesame"), "/tmp/a, /tmp/a"),
    ]
    for (value, expected) in values {
      var text = "\(value) \([value]) \(String(reflecting: value))"
      dump(value, to: &text)
      #expect(!text.contains("sesame"))
      if !expected.isEmpty { #expect("\(value)" == expected) }
    }
  }
}
