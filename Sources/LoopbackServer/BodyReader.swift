import Foundation

/// A collector of a request's body from the parser's events.
struct BodyReader {
  var keepsBytes = true
  private(set) var isComplete = false
  /// The number of bytes received, framing included.
  private(set) var rawCount = 0
  private var contentCount = 0
  private var content = Data()
  /// The body as received; only kept if it differs from the content.
  private var raw: Data?
  private var trailers = HeaderFields()

  mutating func take(_ event: RequestParser.Event) {
    switch event {
    case .head:
      break
    case .body(let content, let raw):
      rawCount += raw.count
      contentCount += content.count
      guard keepsBytes else { return }
      if content.count != raw.count, self.raw == nil { self.raw = self.content }
      self.content.append(contentsOf: content)
      self.raw?.append(contentsOf: raw)
    case .end(let trailers):
      self.trailers = trailers
      isComplete = true
    }
  }

  /// Moves everything into the request.
  mutating func move(to request: inout LoopbackServer.Request) {
    request.body = content
    request.rawBody = raw ?? content
    request.trailers = trailers
    request.bodyByteCount = contentCount
    request.isComplete = isComplete
  }
}
