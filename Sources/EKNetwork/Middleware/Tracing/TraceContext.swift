/// The position of a request in a distributed trace: the content of the `traceparent` and `tracestate` fields (W3C
/// Trace Context, https://www.w3.org/TR/trace-context/).
///
/// A value is always valid: neither of its identifiers is zero, and ``tracestate`` is well-formed.
public struct TraceContext: Sendable, Hashable {
  private let traceHigh: UInt64
  private let traceLow: UInt64
  private let parent: UInt64
  // Only the defined flags; others must be sent as zero (§3.2.2.5).
  private let flags: UInt8

  /// The vendor-specific data of the systems that took part in the trace, one list member for each; `nil` if there is
  /// none.
  public let tracestate: String?

  private static let sampled: UInt8 = 0x01
  /// Level 2 §3.2.2.5.2: the trace ID is random.
  private static let random: UInt8 = 0x02

  private init(traceHigh: UInt64, traceLow: UInt64, parent: UInt64, flags: UInt8, tracestate: String?) {
    self.traceHigh = traceHigh
    self.traceLow = traceLow
    self.parent = parent
    self.flags = flags & (Self.sampled | Self.random)
    self.tracestate = tracestate
  }

  /// Creates the start of a trace, with random identifiers.
  ///
  /// - Parameter isSampled: Whether the trace is recorded. Defaults to `true`.
  public init(isSampled: Bool = true) {
    self.init(
      traceHigh: .random(in: 1...UInt64.max), traceLow: .random(in: 1...UInt64.max),
      parent: .random(in: 1...UInt64.max), flags: Self.random | (isSampled ? Self.sampled : 0), tracestate: nil)
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
      let version = Self.number(bytes[0..<2]), version != 0xFF,
      let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]), high | low != 0,
      let parent = Self.number(bytes[36..<52]), parent != 0,
      let flags = Self.number(bytes[53..<55]),
      bytes.count == 55 || (version > 0 && bytes[55] == dash)
    else { return nil }
    self.init(
      traceHigh: high, traceLow: low, parent: parent, flags: UInt8(truncatingIfNeeded: flags),
      tracestate: tracestate.flatMap { TraceState.valid($0) })
  }

  /// The trace ID, in 32 hexadecimal digits.
  public var traceID: String { Self.digits(traceHigh) + Self.digits(traceLow) }

  /// The ID of the span that the request belongs to, in 16 hexadecimal digits: the parent of the server's span.
  public var spanID: String { Self.digits(parent) }

  /// Whether the trace is recorded.
  public var isSampled: Bool { flags & Self.sampled != 0 }

  /// The value of the `traceparent` field, in version 00.
  public var traceparent: String { "00-\(traceID)-\(spanID)-0\(flags)" }

  /// Returns the same trace with a new span, whose identifier is random.
  public func child() -> TraceContext {
    TraceContext(
      traceHigh: traceHigh, traceLow: traceLow, parent: .random(in: 1...UInt64.max), flags: flags,
      tracestate: tracestate)
  }

  // MARK: - Digits

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64? {
    var number: UInt64 = 0
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(byte - UInt8(ascii: "0"))
      // Upper case is not allowed (§3.2.2).
      case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(byte - UInt8(ascii: "a") + 10)
      default: return nil
      }
    }
    return number
  }

  private static func digits(_ number: UInt64) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }
}
