/// Which request types are known to decode by the library's own `decodeResponse(data:response:)`.
///
/// That one needs no `URLResponse` as long as there is a body, and making one costs a quarter of everything else that a
/// small request needs. Whether a type has an implementation of its own cannot be asked; but the default can note that
/// it was called, which it is only as the witness of its type.
enum DefaultDecoding {
  private static let types = Locked<Set<ObjectIdentifier>>([])

  static func isUsed<T: NetworkRequest>(by type: T.Type) -> Bool {
    types.withLock { $0.contains(ObjectIdentifier(type)) }
  }

  static func note<T: NetworkRequest>(_ type: T.Type) {
    types.withLock { _ = $0.insert(ObjectIdentifier(type)) }
  }
}
