import Foundation
import Testing

@testable import EKNetwork

struct DownloadSourceTests {
  private func digest(_ text: String) throws -> String {
    DownloadSource.digest(of: try #require(URL(string: "https://a.example\(text)")))
  }

  @Test(arguments: [
    "/f#here", "/f?", "/f?X-Amz-Signature=1&X-Amz-Date=2", "/f?x-goog-expires=1",
    "/f?Expires=1&Signature=2%3D&Policy=3", "/f?se=1&sp=r&sig=2", "/f?token=1#?a=b",
    "/f?x-oss-signature=1&OSSAccessKeyId=2", "/f?q-signature=1&q-sign-time=2", "/f?md5=1", "/f?hdnts=1",
  ])
  func signatureDoesNotDistinguishSources(_ text: String) throws {
    #expect(try digest(text) == digest("/f"))
  }

  @Test(arguments: [
    "/f", "/g?file=1", "/f?file=2", "/f?File=1", "/f?file=1&page=2", "/f?file=1&signatures=2", "/f?file",
  ])
  func otherParametersDistinguishSources(_ text: String) throws {
    #expect(try digest(text) != digest("/f?file=1"))
    #expect(try digest(text) == digest(text + (text.contains("?") ? "&" : "?") + "sig=1"))
  }
}
