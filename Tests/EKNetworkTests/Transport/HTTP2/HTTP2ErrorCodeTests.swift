import Testing

@testable import EKNetwork

struct HTTP2ErrorCodeTests {
  /// RFC 9113 §7.
  @Test func namesAreThoseOfTheRFC() {
    let codes: [(HTTP2ErrorCode, String)] = [
      (.protocolError, "PROTOCOL_ERROR"), (.refusedStream, "REFUSED_STREAM"), (.cancel, "CANCEL"),
      (.enhanceYourCalm, "ENHANCE_YOUR_CALM"), (.http11Required, "HTTP_1_1_REQUIRED"),
    ]
    for (code, name) in codes { #expect(HTTP2ErrorCode.name(of: code.rawValue) == name) }
    #expect(HTTP2ErrorCode.name(of: 0) == "NO_ERROR")
    #expect(HTTP2ErrorCode.name(of: 12) == "INADEQUATE_SECURITY")
    #expect(HTTP2ErrorCode.name(of: 14) == "error 14")
    #expect(HTTP2ErrorCode.name(of: .max) == "error 4294967295")
  }
}
