#if os(Linux)
  import Foundation
  import FoundationNetworking

  /// A body that removes one content coding as it is read: nothing is inflated in advance.
  ///
  /// Unchecked: the mutable state is only used by `next()`, which has one caller at a time.
  final class DecodedBody: TransportBody, @unchecked Sendable {
    private let body: any TransportBody
    private let decoder: ContentDecoder
    private let url: URL
    private let meter: InflationMeter
    /// Whether `body` is the one received from the wire.
    private let readsWire: Bool
    private var decoded: Int64 = 0
    /// The number of encoded bytes received since the last decoded byte.
    private var swallowed = 0
    /// The limit of ``swallowed``. More input without any output is not compression, but an endless name or comment, or
    /// empty members.
    private static let mostSwallowed = 4 * 1024 * 1024

    init(_ body: any TransportBody, decoder: ContentDecoder, url: URL, meter: InflationMeter, readsWire: Bool) {
      self.meter = meter
      self.readsWire = readsWire
      self.body = body
      self.decoder = decoder
      self.url = url
    }

    var end: ResponseEnd? { body.end }

    func next() async throws -> Data? {
      do {
        while true {
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
        throw failure.urlError(url)
      }
    }

    func cancel() { body.cancel() }

    private func checkInflation() throws {
      guard let factor = meter.factor, !meter.allows(decoded) else { return }
      body.cancel()
      throw ResponseLimitError(limit: .inflation(factor), url: url)
    }
  }

  extension ContentDecoder.Failure {
    fileprivate func urlError(_ url: URL) -> URLError {
      switch self {
      case .corrupt: CurlError.make(.cannotDecodeContentData, "The encoded body is corrupt", url: url)
      case .truncated:
        CurlError.make(
          .cannotDecodeContentData, "The encoded body ends too early", url: url, cause: TruncatedContentError())
      }
    }
  }
#endif
