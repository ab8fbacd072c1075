import Testing

@testable import EKNetwork

@Suite struct HTTP2ErrorCodeTests {
  /// RFC 9113 §7.
  @Test func namesAreThoseOfTheRFC() {
    #expect(
      HTTP2ErrorCode.allCases.map { HTTP2ErrorCode.name(of: $0.rawValue) } == [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
      ])
    #expect(HTTP2ErrorCode.name(of: 14) == "error 14")
    #expect(HTTP2ErrorCode.name(of: .max) == "error 4294967295")
  }
}
