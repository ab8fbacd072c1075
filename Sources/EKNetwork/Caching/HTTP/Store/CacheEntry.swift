import Foundation

/// A stored response with its body.
struct CacheEntry: Sendable {
  var response: StoredResponse
  var body: Data
  /// What it takes of the memory, roughly.
  var cost: Int

  init(response: StoredResponse, body: Data) {
    self.response = response
    self.body = body
    let fields = response.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
    cost = body.count + fields + 512
  }

  var length: Int64 { Int64(body.count) }
}
