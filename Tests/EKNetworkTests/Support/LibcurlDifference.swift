import Testing

@testable import EKNetwork

/// Another result with some versions of libcurl: in libcurl itself, or in FoundationNetworking, which was written for one version
/// and runs on the one that is loaded. A test that meets one names it, and fails if it does not appear where it is known.
enum LibcurlDifference {
  case refusesAnUnknownTransferCoding
  case ignoresAnUnknownTransferCoding
  case codesOfUnknownCodings
  case codeOfAHandshakeCutShort
  case codeOfAnOldHandshake
  case headWithoutEnd
  case closedForAnOldProtocol
  case zeroByteFromAProxy

  var reason: Comment {
    switch self {
    case .refusesAnUnknownTransferCoding: "FoundationNetworking: newer versions refuse the coding"
    case .ignoresAnUnknownTransferCoding: "FoundationNetworking: an unknown transfer coding is taken for none"
    case .codesOfUnknownCodings: "FoundationNetworking: unknown codings have another code, or none"
    case .codeOfAHandshakeCutShort: "FoundationNetworking: a handshake that is cut short has another code"
    case .codeOfAnOldHandshake: "FoundationNetworking: a server that speaks only TLS 1.0 has another code"
    case .headWithoutEnd: "FoundationNetworking: an endless head is read until the timeout, and may end the process"
    case .closedForAnOldProtocol: "a server that speaks only TLS 1.0 closes the connection for it as if it broke"
    case .zeroByteFromAProxy: "a zero byte has the same code and text in a proxy's response as in the server's"
    }
  }

  /// Those of `tried` that have it.
  private var versions: Set<String> {
    switch self {
    case .refusesAnUnknownTransferCoding: ["8.14.1", "8.21.0"]
    case .ignoresAnUnknownTransferCoding: ["8.3.0", "8.5.0"]
    case .codesOfUnknownCodings: ["8.3.0", "8.5.0", "8.14.1", "8.21.0"]
    case .codeOfAHandshakeCutShort: ["7.76.1", "7.81.0", "8.14.1", "8.21.0"]
    case .codeOfAnOldHandshake, .closedForAnOldProtocol, .zeroByteFromAProxy: ["8.21.0"]
    case .headWithoutEnd: ["7.76.1", "7.81.0", "7.88.1"]
    }
  }

  private static let tried: Set<String> = ["7.76.1", "7.81.0", "7.88.1", "8.3.0", "8.5.0", "8.14.1", "8.21.0"]

  private static var loaded: String? {
    #if os(Linux)
      CurlLibrary.capabilities?.version.description
    #else
      nil
    #endif
  }

  /// With a version that nobody has tried, both are possible.
  static var isUntried: Bool { loaded.map { !tried.contains($0) } ?? false }

  /// Debian 13's OpenSSL, which closes the connection with every version of libcurl.
  private static let hasNewOpenSSL = TransportDescription.current.tlsLibrary?.hasPrefix("OpenSSL/3.5") == true

  private var isOfOpenSSL: Bool {
    switch self {
    case .codeOfAnOldHandshake, .closedForAnOldProtocol: Self.hasNewOpenSSL
    default: false
    }
  }

  var isPossible: Bool { Self.loaded.map { versions.contains($0) } ?? false || isOfOpenSSL || Self.isUntried }

  var isCertain: Bool { !Self.isUntried }

  /// Whether FoundationNetworking may end the process. Debian has mended the endless head in its 7.88.1, but that has the
  /// number of the published one.
  var mayEndTheProcess: Bool { self == .headWithoutEnd }
}

/// Runs a part of a test that has another result with some versions of libcurl, or cancels the test if it would end the process.
func expecting(
  _ difference: LibcurlDifference?, where applies: Bool = true, sourceLocation: SourceLocation = #_sourceLocation,
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async throws {
  guard let difference, applies, difference.isPossible else { return try await body() }
  if difference.mayEndTheProcess { try Test.cancel(difference.reason) }
  await withKnownIssue(
    difference.reason, isIntermittent: !difference.isCertain, sourceLocation: sourceLocation, body)
}
