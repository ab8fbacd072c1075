import Foundation

/// One request and what came of it.
struct HARExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var reason: String
    /// The fields as they are written.
    var fields: CacheFields
    var content = HARContent()
  }

  /// In the order in which the requests were sent.
  var number: Int
  var started: Date
  var request: HARRequest
  /// `nil` where there was none.
  var response: Response?
  /// Why there was no response, or not all of its body.
  var error: String?
  var timings: HARTimings
  var protocolName: String?
  var remoteAddress: String?

  /// How many bytes of memory it stands for, about.
  var cost: Int {
    guard let response else { return request.cost }
    return request.cost + response.content.data.count + response.content.pieces.count * MemoryLayout<Int>.size
      + response.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}
