import Foundation

#if os(Linux)
  import CCurl
  import FoundationNetworking
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
      let available = [
        ("gzip", EKN_CODEC_GZIP), ("deflate", EKN_CODEC_DEFLATE), ("br", EKN_CODEC_BROTLI), ("zstd", EKN_CODEC_ZSTD),
      ]
      .filter { ekn_codec_available($0.1) }.map(\.0)
      return available.isEmpty ? nil : available.joined(separator: ", ")
    }()

    /// Returns the body with its codings removed, the last one first. With an unknown coding, reading it throws
    /// `URLError.cannotDecodeContentData` if there is content: neither a status nor an empty body depends on it.
    static func decoding(
      _ body: any TransportBody, of head: ResponseHead, url: URL, maximumInflation: Int? = nil
    ) -> any TransportBody {
      let names = names(head.value("content-encoding"))
      guard !names.isEmpty else { return body }
      func undecodable(_ text: String) -> any TransportBody {
        UndecodableBody(body, error: CurlError.make(.cannotDecodeContentData, text, url: url))
      }
      guard names.count <= maximumDepth else { return undecodable("More than \(maximumDepth) content codings") }
      var decoded = body
      let meter = InflationMeter(factor: maximumInflation)
      for (layer, name) in names.reversed().enumerated() {
        guard let codec = codec(named: name), let decoder = ContentDecoder(codec) else {
          return undecodable("The content coding \"\(name.prefix(40))\" is unknown")
        }
        decoded = DecodedBody(decoded, decoder: decoder, url: url, meter: meter, readsWire: layer == 0)
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
  private final class UndecodableBody: TransportBody {
    private let body: any TransportBody
    private let error: URLError

    init(_ body: any TransportBody, error: URLError) {
      self.body = body
      self.error = error
    }

    var end: ResponseEnd? { body.end }

    func next() async throws -> Data? {
      guard try await body.next() != nil else { return nil }
      body.cancel()
      throw error
    }

    func cancel() { body.cancel() }
  }
#endif
