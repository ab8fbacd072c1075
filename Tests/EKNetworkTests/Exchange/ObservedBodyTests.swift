import Testing

@testable import EKNetwork

struct ObservedBodyTests {
  /// A reader whose body is cancelled may send its next request at once: what watches the body has to know of the end then.
  @Test func endIsReportedOnceBeforeTheBodyIsCancelled() {
    let notes = Locked<[String]>([])
    let wire = CancellableBody { notes.withLock { $0.append("cancelled") } }
    let body = ObservedBody(wire) { _, _, error in
      notes.withLock { $0.append(error is CancellationError ? "reported" : "read") }
    }
    body.cancel()
    body.cancel(because: URLError(.timedOut))
    #expect(notes.withLock { $0 } == ["reported", "cancelled", "cancelled"])
  }
}

private final class CancellableBody: TransportBody {
  private let onCancel: @Sendable () -> Void
  init(onCancel: @escaping @Sendable () -> Void) { self.onCancel = onCancel }
  func next() async throws -> Data? { nil }
  func cancel() { onCancel() }
}
