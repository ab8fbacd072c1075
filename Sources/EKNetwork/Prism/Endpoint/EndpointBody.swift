import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The encoded body of an endpoint, and its content type.
struct EndpointBody {
  private enum Content {
    case data(Data)
    case source(BodySource)
  }

  private let content: Content
  let contentType: String

  init(_ body: any Encodable) throws {
    switch body {
    case let text as String:
      content = .data(Data(text.utf8))
      contentType = PrismNetworkHeaderType.plainText.rawValue + "; charset=utf-8"
    case let bytes as Data:
      content = .data(bytes)
      contentType = PrismNetworkHeaderType.octetStream.rawValue
    case let form as PrismMultipartFormData:
      content = .source(.segments(try form.segments()))
      contentType = form.contentType
    default:
      let encoder = JSONEncoder()
      // Sorted keys make the bytes the same each time.
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      content = .data(try encoder.encode(body))
      contentType = PrismNetworkHeaderType.json.rawValue
    }
  }

  /// Sets the body of the request.
  func attach(to request: inout URLRequest) {
    switch content {
    case .data(let data): request.httpBody = data
    case .source(let source): request.setBody(source)
    }
  }
}
