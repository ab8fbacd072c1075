#if os(Linux)
  import CCurl
  import Foundation
  import FoundationNetworking

  /// The content codings (RFC 9110 §8.4.1) of a response.
  enum ContentCoding {
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

    /// Returns the body with its codings removed, the last one first. An unknown coding throws
    /// `URLError.cannotDecodeContentData`; if the response is not a success, only when its body is read, because the
    /// meaning of the status does not depend on it.
    static func decoding(
      _ body: any TransportBody, of head: ResponseHead, url: URL, maximumInflation: Int? = nil
    ) throws -> any TransportBody {
      do {
        return try undoing(body, of: head, url: url, maximumInflation: maximumInflation)
      } catch {
        body.cancel()
        guard let status = head.statusCode, status >= 300 else { throw error }
        return FailedBody(error)
      }
    }

    private static func undoing(
      _ body: any TransportBody, of head: ResponseHead, url: URL, maximumInflation: Int?
    ) throws -> any TransportBody {
      guard let field = head.value("content-encoding") else { return body }
      let names = field.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        .filter { !$0.isEmpty && $0 != "identity" }
      guard !names.isEmpty else { return body }
      var decoded = body
      guard names.count <= maximumDepth else {
        throw CurlError.make(.cannotDecodeContentData, "More than \(maximumDepth) content codings", url: url)
      }
      let meter = InflationMeter(factor: maximumInflation)
      for (layer, name) in names.reversed().enumerated() {
        guard let codec = codec(named: name), let decoder = ContentDecoder(codec) else {
          throw CurlError.make(
            .cannotDecodeContentData, "The content coding \"\(name.prefix(40))\" is unknown", url: url)
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
#endif
