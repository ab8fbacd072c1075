import Foundation

struct CollectedResponse: Sendable {
  var head: ResponseHead
  var data: Data
  /// The reason why there is no data, if the status is an error and its body could not be read.
  var readError: (any Error)?
  var end: ResponseEnd?
  var redirect = RedirectDecision.undecided

  var timings: NetworkTimings? { end?.timings }
}

extension NetworkResponse {
  init(_ response: CollectedResponse) {
    let head = response.head
    self.init(
      statusCode: head.statusCode ?? 0, headerFields: head.fields, data: response.data,
      trailers: response.end?.trailers ?? HeaderFieldList(), url: head.url, protocolVersion: head.version,
      reasonPhrase: head.reasonPhrase)
  }
}

extension DecodedResponse {
  init(_ value: Value, _ head: ResponseHead) {
    self.init(value: value, statusCode: head.statusCode ?? 0, headerFields: head.fields, url: head.url)
  }
}

extension TransportResponse {
  /// The number of bytes of an unwanted body, as that of a redirect, to read to keep its connection; beyond that, a new
  /// connection is cheaper.
  static let drainLimit = 64 * 1024
  /// How long to wait for it, for the same reason.
  static let drainPatience = Duration.milliseconds(500)
  /// The maximum number of bytes to reserve for an announced length before the bytes have arrived.
  static let reservationLimit = 16 * 1024 * 1024

  @concurrent func collect() async throws -> CollectedResponse {
    // A body that arrives in one piece, as most do, is returned without copying it.
    guard let first = try await body.next() else {
      return CollectedResponse(head: head, data: Data(), end: body.end, redirect: redirect)
    }
    guard let second = try await body.next() else {
      return CollectedResponse(head: head, data: first, end: body.end, redirect: redirect)
    }
    var data = Data()
    let announced = Int(clamping: head.contentLength ?? 0)
    data.reserveCapacity(max(first.count + second.count, min(announced, Self.reservationLimit)))
    data.append(first)
    data.append(second)
    while let chunk = try await body.next() { data.append(chunk) }
    return CollectedResponse(head: head, data: data, end: body.end, redirect: redirect)
  }

  /// Reads the body to its end, or throws `tooLong` at the first byte beyond `limit`.
  @concurrent func collect(limit: Int, orThrow tooLong: any Error) async throws -> CollectedResponse {
    var limited = self
    limited.body = LimitedBody(body, limit: Int64(limit), orThrow: tooLong)
    return try await limited.collect()
  }

  /// Reads the rest of an unwanted body, within limits of size and time, so that its connection can be reused. Returns
  /// the number of bytes that were read.
  @discardableResult @concurrent func drain() async throws -> Int {
    if let length = head.contentLength, length > Int64(Self.drainLimit) {
      body.cancel()
      return 0
    }
    // A server that withholds the rest must not delay what follows: cancelling ends the wait below.
    let isOver = Locked(false)
    let timer = Task { [body] in
      try await Task.sleep(for: Self.drainPatience)
      isOver.withLock { $0 = true }
      body.cancel()
    }
    defer { timer.cancel() }
    var drained = 0
    do {
      while drained <= Self.drainLimit {
        guard let chunk = try await body.next() else { return drained }
        drained += chunk.count
      }
    } catch let error as CancellationError where Task.isCancelled || !isOver.withLock({ $0 }) {
      throw error
    } catch {
      // Only the head matters: a broken body does not change it.
    }
    body.cancel()
    return drained
  }
}

/// A transport that returns one response, which middleware has supplied.
struct FixedResponseTransport: Transport {
  let response: TransportResponse
  let wire: any Transport

  var resolvesRedirects: Bool { true }
  var sessionSettings: SessionSettings { wire.sessionSettings }

  func start(_ request: TransportRequest) async throws -> TransportResponse { response }
}
