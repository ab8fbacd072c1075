import Foundation

/// The position of a request in a distributed trace: the content of the `traceparent` and `tracestate` fields (W3C
/// Trace Context, https://www.w3.org/TR/trace-context/).
///
/// A value is always valid: neither of its identifiers is zero, and ``tracestate`` is well-formed.
public struct TraceContext: Sendable, Hashable {
  /// The trace ID, in 32 hexadecimal digits.
  public private(set) var traceID: String
  /// The ID of the span that the request belongs to, in 16 hexadecimal digits: the parent of the server's span.
  public private(set) var spanID: String
  // Only the defined flags; others must be sent as zero (§3.2.2.5).
  private let flags: UInt8

  /// The vendor-specific data of the systems that took part in the trace, one list member for each; `nil` if there is
  /// none.
  public let tracestate: String?

  private static let sampled: UInt8 = 0x01
  /// Level 2 §3.2.2.5.2: the trace ID is random.
  private static let random: UInt8 = 0x02

  /// Creates the start of a trace, with random identifiers.
  ///
  /// - Parameter isSampled: Whether the trace is recorded. Defaults to `true`.
  public init(isSampled: Bool = true) {
    traceID = Self.randomDigits() + Self.randomDigits()
    spanID = Self.randomDigits()
    flags = Self.random | (isSampled ? Self.sampled : 0)
    tracestate = nil
  }

  /// Creates a context from the identifiers of another tracing library.
  ///
  /// - Parameters:
  ///   - traceID: 32 hexadecimal digits in lower case, not all of them zero.
  ///   - spanID: 16 such digits: the span that the request belongs to.
  ///   - isSampled: Whether the trace is recorded.
  ///   - tracestate: As in ``init(traceparent:tracestate:)``. Defaults to `nil`.
  /// - Returns: `nil` if an identifier is not valid.
  public init?(traceID: String, spanID: String, isSampled: Bool, tracestate: String? = nil) {
    guard traceID.utf8.count == 32, spanID.utf8.count == 16 else { return nil }
    self.init(traceparent: "00-\(traceID)-\(spanID)-\(isSampled ? "01" : "00")", tracestate: tracestate)
  }

  /// Parses the fields of a request, by the rules of §3.2 and §4.3: a version later than 00 is parsed as far as 00
  /// goes.
  ///
  /// - Parameters:
  ///   - traceparent: The value of the `traceparent` field.
  ///   - tracestate: The value of the `tracestate` field; several are joined with commas. A value that is not valid, or
  ///     has more than 32 members or 8,192 bytes, is dropped (§3.3.1). Defaults to `nil`.
  /// - Returns: `nil` if `traceparent` is not valid: a new trace has to be started.
  public init?(traceparent: String, tracestate: String? = nil) {
    let bytes = Array(traceparent.utf8.prefix(56))
    let dash = UInt8(ascii: "-")
    guard bytes.count >= 55, bytes[2] == dash, bytes[35] == dash, bytes[52] == dash,
      let version = Self.digits(bytes[0..<2]), version != "ff",
      let traceID = Self.digits(bytes[3..<35]), traceID.contains(where: { $0 != "0" }),
      let spanID = Self.digits(bytes[36..<52]), spanID.contains(where: { $0 != "0" }),
      let flags = Self.digits(bytes[53..<55]).flatMap({ UInt8($0, radix: 16) }),
      bytes.count == 55 || (version != "00" && bytes[55] == dash)
    else { return nil }
    self.traceID = traceID
    self.spanID = spanID
    self.flags = flags & (Self.sampled | Self.random)
    self.tracestate = tracestate.flatMap { TraceState.valid($0) }
  }

  /// Whether the trace is recorded.
  public var isSampled: Bool { flags & Self.sampled != 0 }

  /// The value of the `traceparent` field, in version 00.
  public var traceparent: String { "00-\(traceID)-\(spanID)-0\(flags)" }

  /// Returns the same trace with a new span, whose identifier is random.
  public func child() -> TraceContext {
    var child = self
    child.spanID = Self.randomDigits()
    return child
  }

  private static func randomDigits() -> String { UInt64.random(in: 1...UInt64.max).text(digits: 16, radix: 16) }

  private static func digits(_ bytes: ArraySlice<UInt8>) -> String? {
    // Upper case is not allowed (§3.2.2).
    guard bytes.allSatisfy({ $0.isDigit || (0x61...0x66).contains($0) }) else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The list of the `tracestate` field (W3C Trace Context §3.3.1).
enum TraceState {
  private static let maximumMembers = 32
  /// At least 512 characters have to be propagated (§3.3.1.5); a field of arbitrary length is not.
  private static let maximumLength = 8_192

  /// Returns the list without blanks around its members, without empty ones, and with the first of those with the same key;
  /// `nil` if it is empty or not valid.
  static func valid(_ value: String) -> String? {
    guard value.utf8.count <= maximumLength else { return nil }
    var keys: Set<Substring> = []
    var members: [String] = []
    for part in value.split(separator: ",") {
      let member = part.trimmingBlanks()
      if member.isEmpty { continue }
      guard let equals = member.firstIndex(of: "=") else { return nil }
      let (key, text) = (member[..<equals], member[member.index(after: equals)...])
      guard isKey(key.utf8), isValue(text.utf8) else { return nil }
      // The first is the most recent. Its repetition is the fault of one system, and must not hide the data of all others.
      if keys.insert(key).inserted { members.append(String(member)) }
    }
    guard !members.isEmpty, members.count <= maximumMembers else { return nil }
    return members.joined(separator: ",")
  }

  /// Returns whether a key is valid, as in level 2: level 1 had stricter rules for the `@` between a tenant and a system.
  private static func isKey(_ key: Substring.UTF8View) -> Bool {
    guard let first = key.first, key.count <= 256, isLetterOrDigit(first) else { return false }
    return key.allSatisfy { isLetterOrDigit($0) || "_-*/@".utf8.contains($0) }
  }

  /// Returns whether a value is valid: printable ASCII without `,` and `=`. Trailing blanks are trimmed already.
  private static func isValue(_ value: Substring.UTF8View) -> Bool {
    !value.isEmpty && value.count <= 256
      && value.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: "=") }
  }

  private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
    byte.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
  }
}

/// Middleware that adds `traceparent` and `tracestate` (W3C Trace Context) to requests, so that the work of the server
/// appears in the trace of the client.
///
/// In ``NetworkManager/attemptMiddleware`` the context is requested once for each attempt and each redirect, so that
/// each can be its own span; in ``NetworkManager/middleware`` once for each call. The ``HTTPCache``, and whatever else is shared between requests, ignores differences in
/// these fields.
public struct TracePropagator: NetworkMiddleware {
  private let includesOtherOrigins: Bool
  private let context: @Sendable () -> TraceContext?

  /// - Parameters:
  ///   - includesOtherOrigins: Whether the fields are also sent after a redirect to an origin other than that of the
  ///     first request. Defaults to `false`: `tracestate` may contain more than others should know. Fields that are set
  ///     around the call are never sent to another origin.
  ///   - context: Returns the context of the request that is about to be sent; `nil` for none. It runs with the
  ///     task-local values of the caller, and must return quickly.
  public init(includesOtherOrigins: Bool = false, context: @escaping @Sendable () -> TraceContext?) {
    self.includesOtherOrigins = includesOtherOrigins
    self.context = context
  }

  /// Passes the request on with the fields of its context, which replace existing ones. Without a context it is
  /// unchanged; to another origin it is sent without the fields, unless they are included.
  ///
  /// - Throws: The error of `next`.
  public func intercept(
    _ request: URLRequest, context hop: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    var request = request
    if hop.hasLeftOrigin, !includesOtherOrigins {
      request.setValue(nil, forHTTPHeaderField: "traceparent")
      request.setValue(nil, forHTTPHeaderField: "tracestate")
    } else if let context = context() {
      request.setValue(context.traceparent, forHTTPHeaderField: "traceparent")
      request.setValue(context.tracestate, forHTTPHeaderField: "tracestate")
    }
    return try await next(request)
  }
}
