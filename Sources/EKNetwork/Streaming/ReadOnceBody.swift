/// A response body that has one reader at a time: the first one that requests bytes, until the body has ended or the
/// reader is released. Two readers would each get some of the chunks, and concurrent calls would break a decoder.
final class ReadOnceBody: Sendable {
  let body: any TransportBody
  private let reader = Locked<ObjectIdentifier?>(nil)

  init(_ body: any TransportBody) { self.body = body }

  /// Claims the body for a reader; returns whether that reader may read it.
  func claim(for reader: AnyObject) -> Bool {
    let id = ObjectIdentifier(reader)
    return self.reader.withLock { current in
      if current == nil { current = id }
      return current == id
    }
  }

  /// Ends the claim of a reader that has read the body to its end or is being released.
  func release(by reader: AnyObject) {
    let id = ObjectIdentifier(reader)
    self.reader.withLock { if $0 == id { $0 = nil } }
  }
}
