import Foundation

/// The bytes of an endpoint's body, and what they are.
struct EndpointBody {
  let data: Data
  let contentType: String

  init(_ body: any Encodable) throws {
    switch body {
    case let text as String:
      data = Data(text.utf8)
      contentType = PrismNetworkHeaderType.plainText.rawValue + "; charset=utf-8"
    case let bytes as Data:
      data = bytes
      contentType = PrismNetworkHeaderType.octetStream.rawValue
    default:
      let encoder = JSONEncoder()
      // The order of the keys makes the bytes the same each time.
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      data = try encoder.encode(body)
      contentType = PrismNetworkHeaderType.json.rawValue
    }
  }
}
