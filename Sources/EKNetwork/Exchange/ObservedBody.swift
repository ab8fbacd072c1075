import Foundation

/// The body of a stream, whose end is logged.
///
/// Unchecked: `count` is accessed by `next()` only, which has one caller at a time.
final class ObservedBody: TransportBody, @unchecked Sendable {
  private let body: any TransportBody
  private let status: Int
  private let log: RequestLog
  private let head: ResponseHead
  private let isOver = Locked(false)
  private var count: Int64 = 0

  init(_ body: any TransportBody, status: Int, head: ResponseHead, log: RequestLog) {
    self.body = body
    self.status = status
    self.head = head
    self.log = log
  }

  deinit { end { log.failed(CancellationError()) } }

  var end: ResponseEnd? { body.end }

  func next() async throws -> Data? {
    do {
      let chunk = try await body.next()
      count += Int64(chunk?.count ?? 0)
      if chunk == nil { end { log.finished(status: status, bytes: count, timings: body.end?.timings, head: head) } }
      return chunk
    } catch {
      end { log.failed(error) }
      throw error
    }
  }

  func cancel() {
    body.cancel()
    end { log.failed(CancellationError()) }
  }

  private func end(_ report: () -> Void) {
    let isFirst = isOver.withLock { isOver in
      defer { isOver = true }
      return !isOver
    }
    if isFirst { report() }
  }
}
