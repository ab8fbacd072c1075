import Foundation

/// A body whose beginning has already been read.
final class PrefixedBody: TransportBody {
  private let prefix: Locked<[Data]>
  private let rest: any TransportBody
  private let hasRest: Bool

  /// - Parameter hasRest: Whether the body continues after the prefix.
  init(_ prefix: [Data], _ rest: any TransportBody, hasRest: Bool) {
    self.prefix = Locked(prefix.reversed())
    self.rest = rest
    self.hasRest = hasRest
  }

  var end: ResponseEnd? { rest.end }

  func next() async throws -> Data? {
    try Task.checkCancellation()
    if let chunk = prefix.withLock({ $0.popLast() }) { return chunk }
    return hasRest ? try await rest.next() : nil
  }

  func cancel() {
    prefix.withLock { $0 = [] }
    rest.cancel()
  }
}
