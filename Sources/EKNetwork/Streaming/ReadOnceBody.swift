/// A response body with a mark of who reads it: the first who asks for bytes, until the body has ended or the reader is
/// gone. Two who took turns would each get some of the chunks, and a decoder that both call at once would break.
final class ReadOnceBody: Sendable {
  let body: any TransportBody
  private let reader = Locked<ObjectIdentifier?>(nil)

  init(_ body: any TransportBody) { self.body = body }

  /// Whether the body is the caller's to read.
  func claim(for reader: AnyObject) -> Bool {
    let id = ObjectIdentifier(reader)
    return self.reader.withLock { current in
      if current == nil { current = id }
      return current == id
    }
  }

  /// The reader has read the body to its end, or is going away.
  func release(by reader: AnyObject) {
    let id = ObjectIdentifier(reader)
    self.reader.withLock { if $0 == id { $0 = nil } }
  }
}
