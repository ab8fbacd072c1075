import Foundation

/// A stored response with its body.
struct CacheEntry: Sendable {
  var response: StoredResponse
  var body: CachedBody
  /// The approximate memory usage, in bytes.
  let cost: Int

  init(response: StoredResponse, body: CachedBody) {
    self.response = response
    self.body = body
    let fields = response.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
    cost = Int(clamping: body.length) + fields + 512
  }

  init(response: StoredResponse, body: Data) { self.init(response: response, body: .data(body)) }

  var length: Int64 { body.length }
}
