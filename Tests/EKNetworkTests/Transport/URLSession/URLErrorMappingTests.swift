import Foundation
import Testing

@testable import EKNetwork

@Suite("Errors of FoundationNetworking")
struct URLErrorMappingTests {
  @Test(
    "libcurl's error text determines a code that Foundation leaves unknown",
    arguments: [
      ("SSL certificate problem: certificate has expired", URLError.Code.serverCertificateHasBadDate),
      ("SSL certificate problem: certificate is not yet valid", .serverCertificateNotYetValid),
      ("SSL certificate problem: self-signed certificate", .serverCertificateUntrusted),
      ("SSL certificate problem: self-signed certificate in certificate chain", .serverCertificateHasUnknownRoot),
      ("SSL certificate problem: unable to get local issuer certificate", .serverCertificateHasUnknownRoot),
      (
        "SSL: no alternative certificate subject name matches target host name 'a'", .serverCertificateUntrusted
      ),
      ("error:0A00010B:SSL routines::wrong version number", .secureConnectionFailed),
      ("transfer closed with 5 bytes remaining to read", .networkConnectionLost),
      ("transfer closed with outstanding read data remaining", .networkConnectionLost),
      ("end of response with 7 bytes missing", .networkConnectionLost),
      ("Failure writing output to destination, passed 2 returned 0", .badServerResponse),
      ("Recv failure: Connection reset by peer", .networkConnectionLost),
      ("Failed writing header", .badServerResponse),
      ("Unrecognized content encoding type. libcurl understands deflate, gzip", .cannotDecodeContentData),
      ("Error while processing content unencoding: incorrect header check", .cannotDecodeContentData),
      ("Illegal or missing hexadecimal sequence in chunked-encoding", .badServerResponse),
      (
        "Failed to connect to tls.example.com port 80 after 3052 ms: Couldn't connect to server", .cannotConnectToHost
      ),
      ("Could not resolve host: headers.example.com", .cannotFindHost),
      ("Could not resolve proxy: ssl.example.com", .cannotFindHost),
      ("Failed to resolve \"ssl.example.com\" for SOCKS5 connect.", .cannotFindHost),
      ("Can't complete SOCKS5 connection to ssl.example.com. (4)", .cannotConnectToHost),
      ("something new", .unknown),
    ])
  func text(_ text: String, _ code: URLError.Code) {
    #expect(URLError.corrected(.unknown, text: text) == code)
  }

  #if os(Linux)
    @Test("The password for a proxy is not in the error for its URL")
    func proxyURL() throws {
      let text = "Unsupported proxy syntax in 'http://user:secret@tls.example.com:x'"
      let error = NSError(
        domain: NSURLErrorDomain, code: URLError.Code.unknown.rawValue, userInfo: [NSLocalizedDescriptionKey: text])
      let mapped = try #require(URLError.mapped(error, url: nil) as? URLError)
      #expect(mapped.code == .badURL)
      #expect(mapped.localizedDescription.hasPrefix("The URL of the proxy is not valid"))
    }
  #endif

  @Test("Codes set by Foundation are kept, with two exceptions")
  func codes() {
    #expect(URLError.corrected(.cannotFindHost, text: "Could not resolve host: ssl") == .cannotFindHost)
    #expect(URLError.corrected(.badServerResponse, text: "Empty reply from server") == .networkConnectionLost)
    #expect(URLError.corrected(.unsupportedURL, text: "Received HTTP/0.9 when not allowed") == .badServerResponse)
  }

  @Test(
    "Socket errors become URLErrors",
    arguments: [
      (POSIXErrorCode.ECONNABORTED, URLError.Code.networkConnectionLost), (.ENOTCONN, .networkConnectionLost),
      (.ECONNRESET, .networkConnectionLost), (.EPIPE, .networkConnectionLost), (.ETIMEDOUT, .timedOut),
      (.ECONNREFUSED, .cannotConnectToHost), (.ENETDOWN, .notConnectedToInternet),
    ])
  func posix(_ posix: POSIXErrorCode, _ code: URLError.Code) throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let error = URLError.mapped(NSError(domain: NSPOSIXErrorDomain, code: Int(posix.rawValue)), url: url)
    let mapped = try #require(error as? URLError)
    #expect(mapped.code == code)
    #expect(mapped.failingURL == url)
    #expect(RetryPolicy.isTransient(mapped))
  }

  @Test(
    "Errors of CFNetwork become URLErrors",
    arguments: [
      (303, URLError.Code.badServerResponse), (310, .cannotConnectToHost), (302, .networkConnectionLost),
      (307, .userAuthenticationRequired), (309, .userAuthenticationRequired),
      (2, .cannotFindHost), (120, .cannotConnectToHost), (304, .httpTooManyRedirects), (305, .badURL),
      (-1001, .timedOut), (-1005, .networkConnectionLost), (-998, .unknown), (200, .unknown), (312, .unknown),
    ])
  func cfNetwork(_ number: Int, _ code: URLError.Code) throws {
    let url = try #require(URL(string: "http://user:secret@127.0.0.1/"))
    let given = NSError(domain: "kCFErrorDomainCFNetwork", code: number, userInfo: ["_kCFStreamErrorCodeKey": -2201])
    let mapped = try #require(URLError.mapped(given, url: url) as? URLError)
    #expect(mapped.code == code)
    #expect(mapped.failingURL?.absoluteString == "http://127.0.0.1/")
    #expect(mapped.userInfo["_kCFStreamErrorCodeKey"] as? Int == -2201)
    #expect((mapped.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == number)
  }

  @Test("An unknown POSIX error code is passed on")
  func unknownPosix() {
    let error = URLError.mapped(NSError(domain: NSPOSIXErrorDomain, code: 1 << 40 | 9_999), url: nil)
    #expect((error as NSError).domain == NSPOSIXErrorDomain)
  }

  @Test("A mapped error carries the URL and its text; other errors are passed on")
  func mapped() throws {
    let url = try #require(URL(string: "http://127.0.0.1/"))
    let text = "transfer closed with 5 bytes remaining to read"
    let error = URLError(.unknown, userInfo: [NSLocalizedDescriptionKey: text])
    #if !canImport(Darwin)
      let mapped = try #require(URLError.mapped(error, url: url) as? URLError)
      #expect(mapped.code == .networkConnectionLost)
      #expect(mapped.failingURL == url)
      #expect(mapped.localizedDescription == text)
    #endif
    #expect(URLError.mapped(CancellationError(), url: url) is CancellationError)
  }
}
