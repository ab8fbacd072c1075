import Foundation

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The parts of a HAR file that tests check.
struct HARProbe: Decodable {
  struct Field: Decodable {
    var name: String
    var value: String
  }

  struct Request: Decodable {
    var method: String
    var url: String
    var httpVersion: String
    var headers: [Field]
    var queryString: [Field]
    var postData: PrismGraphQLValue?
    var bodySize: Int
  }

  struct Response: Decodable {
    var status: Int
    var headers: [Field]
    var content: Content
    var redirectURL: String
    var bodySize: Int
    var _transferSize: Int?
    var _error: String?
  }

  struct Content: Decodable {
    var size: Int
    var text: String?
    var encoding: String?
    var comment: String?
    var _pieces: [Int]?
    var _truncated: Bool?
  }

  struct Entry: Decodable {
    var startedDateTime: String
    var time: Double
    var request: Request
    var response: Response
    var timings: [String: Double]
    var serverIPAddress: String?
    var _resourceType: String

    var path: String { URL(string: request.url)?.path ?? "" }
    var status: Int { response.status }
    var error: String? { response._error }
    var body: Data? {
      guard let text = response.content.text else { return nil }
      return response.content.encoding == "base64" ? Data(base64Encoded: text) : Data(text.utf8)
    }
  }

  struct Log: Decodable {
    var version: String
    var entries: [Entry]
    var comment: String?
  }

  var log: Log

  static func entries(_ recorder: HARRecorder) throws -> [Entry] {
    try JSONDecoder().decode(HARProbe.self, from: try recorder.data()).log.entries
  }
}

extension [HARProbe.Field] {
  /// The values of a field, by its name in lower case.
  func values(_ name: String) -> [String] { filter { $0.name.lowercased() == name }.map(\.value) }
}

extension ReplaySession {
  /// A session that replays the entries of a recorder.
  convenience init(_ recorder: HARRecorder) throws { try self.init(har: try recorder.data()) }
}
