#if os(Linux)
  import CCurl
  import Foundation

  /// An incremental decoder for one content coding.
  final class ContentDecoder {
    /// The ways in which a body can be invalid.
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
