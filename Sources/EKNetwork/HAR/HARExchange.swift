import Foundation

/// A request and its outcome.
struct HARExchange: Sendable {
  struct Response: Sendable {
    var status: Int
    var reason: String
    /// The header fields as they are written.
    var fields: HeaderFieldList
    var content = HARContent()
  }

  /// The number of the request, in the order of sending.
  var number: Int
  var started: Date
  var request: HARRequest
  /// `nil` if there was none.
  var response: Response?
  /// The error because of which there was no response, or not all of its body.
  var error: String?
  var timings: HARTimings
  var protocolName: String?
  var remoteAddress: String?

  /// The approximate number of bytes of memory that it takes.
  var cost: Int {
    guard let response else { return request.cost }
    return request.cost + response.content.data.count + response.content.pieces.count * MemoryLayout<Int>.size
      + response.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
  }
}
