/// The error codes of RFC 9113 §7.
enum HTTP2ErrorCode: UInt32, CaseIterable {
  case noError = 0
  case protocolError
  case internalError
  case flowControlError
  case settingsTimeout
  case streamClosed
  case frameSizeError
  case refusedStream
  case cancel
  case compressionError
  case connectError
  case enhanceYourCalm
  case inadequateSecurity
  case http11Required

  /// Returns the name in the RFC, such as `PROTOCOL_ERROR`.
  static func name(of code: UInt32) -> String {
    switch HTTP2ErrorCode(rawValue: code) {
    case .http11Required: "HTTP_1_1_REQUIRED"
    case let known?:
      "\(known)".reduce(into: "") { $0 += $1.isUppercase ? "_\($1)" : $1.uppercased() }
    case nil: "error \(code)"
    }
  }
}
