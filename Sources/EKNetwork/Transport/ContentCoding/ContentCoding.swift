import Foundation

#if os(Linux)
  import CCurl
#endif

/// The content codings (RFC 9110 §8.4.1) of a response.
enum ContentCoding {
  /// Returns the names of the codings of a `Content-Encoding` field, in lower case, without those that change nothing:
  /// `identity`, and `none`, which PHP programs send to say that there is none.
  static func names(_ field: String?) -> [String] {
    guard let field else { return [] }
    return FieldList.members(field).map { $0.lowercased() }.filter { $0 != "identity" && $0 != "none" }
  }
}

#if os(Linux)
  extension ContentCoding {
    /// The maximum number of codings to remove; more are an attack.
    private static let maximumDepth = 5

    /// The codings that this machine can decode, for `Accept-Encoding`.
    static let acceptEncoding: String? = {
      let available = ["gzip", "deflate", "br", "zstd"].filter { codec(named: $0).map(ekn_codec_available) == true }
      return available.isEmpty ? nil : available.joined(separator: ", ")
    }()

    /// Returns the body with its codings removed, the last one first. With an unknown coding, reading it throws
    /// `URLError.cannotDecodeContentData` if there is content: neither a status nor an empty body depends on it.
    ///
    /// - Parameter deadline: When to stop with `URLError.timedOut`.
    static func decoding(
      _ body: any TransportBody, of head: ResponseHead, url: URL, maximumInflation: Int? = nil,
      deadline: ContinuousInstant? = nil
    ) -> any TransportBody {
      let names = names(head.value("content-encoding"))
      guard !names.isEmpty else { return body }
      func undecodable(_ text: String) -> any TransportBody {
        UndecodableBody(body, error: URLError(.cannotDecodeContentData, url: url, description: text))
      }
      guard names.count <= maximumDepth else { return undecodable("More than \(maximumDepth) content codings") }
      var decoded = body
      let meter = InflationMeter(factor: maximumInflation)
      for (layer, name) in names.reversed().enumerated() {
        guard let codec = codec(named: name), let decoder = ContentDecoder(codec) else {
          return undecodable("The content coding \"\(name.prefix(40))\" is unknown")
        }
        decoded = DecodedBody(
          decoded, decoder: decoder, url: url, meter: meter, deadline: deadline, readsWire: layer == 0)
      }
      return decoded
    }

    private static func codec(named name: String) -> ekn_codec? {
      switch name {
      case "gzip", "x-gzip": EKN_CODEC_GZIP
      case "deflate": EKN_CODEC_DEFLATE
      case "br": EKN_CODEC_BROTLI
      case "zstd": EKN_CODEC_ZSTD
      default: nil
      }
    }
  }

  /// A body that cannot be decoded, which is an error only if it is not empty.
  private final class UndecodableBody: WrappingBody {
    let body: any TransportBody
    private let error: URLError

    init(_ body: any TransportBody, error: URLError) {
      self.body = body
      self.error = error
    }

    func next() async throws -> Data? {
      guard try await body.next() != nil else { return nil }
      body.cancel()
      throw error
    }
  }

  /// A body that removes one content coding as it is read: nothing is inflated in advance.
  ///
  /// Unchecked: the mutable state is only used by `next()`, which has one caller at a time.
  final class DecodedBody: WrappingBody, @unchecked Sendable {
    let body: any TransportBody
    private let decoder: ContentDecoder
    private let url: URL
    private let meter: InflationMeter
    private let deadline: ContinuousInstant?
    /// Whether `body` is the one received from the wire.
    private let readsWire: Bool
    private var decoded: Int64 = 0
    /// The number of encoded bytes received since the last decoded byte.
    private var swallowed = 0
    /// The limit of ``swallowed``. More input without any output is not compression, but an endless name or comment, or
    /// empty members.
    private static let mostSwallowed = 4 * 1024 * 1024

    init(
      _ body: any TransportBody, decoder: ContentDecoder, url: URL, meter: InflationMeter,
      deadline: ContinuousInstant?, readsWire: Bool
    ) {
      self.meter = meter
      self.deadline = deadline
      self.readsWire = readsWire
      self.body = body
      self.decoder = decoder
      self.url = url
    }

    func next() async throws -> Data? {
      do {
        while true {
          try checkTime()
          if let data = try decoder.next() {
            decoded += Int64(data.count)
            swallowed = 0
            try checkInflation()
            return data
          }
          guard let encoded = try await body.next() else {
            try decoder.finish()
            return nil
          }
          if readsWire { meter.received(encoded.count) }
          swallowed += encoded.count
          guard swallowed <= Self.mostSwallowed else { throw ContentDecoder.Failure.corrupt }
          decoder.feed(encoded)
        }
      } catch let failure as ContentDecoder.Failure {
        body.cancel()
        let isTruncated = failure == .truncated
        throw URLError(
          .cannotDecodeContentData, url: url,
          description: isTruncated ? "The encoded body ends too early" : "The encoded body is corrupt",
          cause: isTruncated ? TruncatedContentError() : nil)
      }
    }

    /// What has arrived may become gigabytes, long after its transfer, which has the other limits, is over.
    private func checkTime() throws {
      if Task.isCancelled {
        body.cancel()
        throw CancellationError()
      }
      guard let deadline, deadline <= .now else { return }
      body.cancel()
      throw URLError(.timedOut, url: url, description: "The request timed out while its body was decoded")
    }

    private func checkInflation() throws {
      guard let factor = meter.factor, !meter.allows(decoded) else { return }
      body.cancel()
      throw ResponseLimitError(limit: .inflation(factor), url: url)
    }
  }

  final class ContentDecoder {
    enum Failure: Error {
      case corrupt
      case truncated
    }

    private static let outputSize = 64 * 1024

    private let decoder: OpaquePointer
    private var input = Data()
    private var hasInput = false
    private var isAtEnd = false

    /// Returns `nil` if the codec's library is not installed.
    init?(_ codec: ekn_codec) {
      guard let decoder = ekn_decoder_create(codec) else { return nil }
      self.decoder = decoder
    }

    deinit { ekn_decoder_free(decoder) }

    /// Supplies more of the encoded body. Must only be called after ``next()`` has returned `nil`.
    func feed(_ data: Data) {
      input = data
      if !data.isEmpty { hasInput = true }
    }

    /// Returns the next decoded bytes, or `nil` if more input is needed.
    func next() throws -> Data? {
      while true {
        let output = UnsafeMutableRawPointer.allocate(byteCount: Self.outputSize, alignment: 16)
        defer { output.deallocate() }
        let (status, consumed, produced) = run(into: output)
        input = input.dropFirst(consumed)
        isAtEnd = status == EKN_DECODER_END
        if status == EKN_DECODER_CORRUPT { throw Failure.corrupt }
        if produced > 0 { return Data(bytes: output, count: produced) }
        if input.isEmpty { return nil }
        if consumed == 0 { throw Failure.corrupt }
      }
    }

    /// Checks that the body was complete. An empty body is: a response to `HEAD` announces a coding and has no body.
    func finish() throws {
      if hasInput, !isAtEnd { throw Failure.truncated }
    }

    private func run(into output: UnsafeMutableRawPointer) -> (ekn_decoder_status, consumed: Int, produced: Int) {
      input.withUnsafeBytes { bytes in
        var source = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var sourceLength = bytes.count
        var target: UnsafeMutablePointer<UInt8>? = output.assumingMemoryBound(to: UInt8.self)
        var targetLength = Self.outputSize
        let status = ekn_decoder_run(decoder, &source, &sourceLength, &target, &targetLength)
        return (status, bytes.count - sourceLength, Self.outputSize - targetLength)
      }
    }
  }
#endif

/// A meter of how much a body may grow while its content codings are removed, all of them together: with a limit for
/// each, five layers could grow by the fifth power of the factor.
///
/// Unchecked: only used by the `next()` of the layers of one body, which call each other one at a time.
final class InflationMeter: @unchecked Sendable {
  let factor: Int?
  private var received: Int64 = 0

  init(factor: Int?) { self.factor = factor }

  func received(_ count: Int) { received += Int64(count) }

  /// Returns whether a layer may have produced that many bytes from what has been received.
  func allows(_ decoded: Int64) -> Bool {
    guard let factor, decoded > ResponseLimits.inflationAllowance else { return true }
    let (allowed, overflow) = received.multipliedReportingOverflow(by: Int64(factor))
    return overflow || decoded <= allowed
  }
}

/// The underlying error of a body whose content coding is not complete, although the body has ended without an error.
struct TruncatedContentError: Error {
  static func isCause(of error: any Error) -> Bool {
    (error as? URLError)?.userInfo[NSUnderlyingErrorKey] is TruncatedContentError
  }
}
