import Foundation

/// A response with its whole body.
struct CollectedResponse: Sendable {
  var head: ResponseHead
  var data: Data
  /// Why there is no data, where the status is an error and its body could not be read.
  var unread: (any Error)?
  /// What the user's own session delegate said, if `head` is a redirect.
  var redirect = RedirectDecision.undecided
  private var measured: Measured?

  init(
    head: ResponseHead, data: Data, unread: (any Error)? = nil, timings: NetworkTimings? = nil,
    redirect: RedirectDecision = .undecided
  ) {
    self.head = head
    self.data = data
    self.unread = unread
    self.redirect = redirect
    self.timings = timings
  }

  /// How long the parts of the exchange took, if the request asked for it.
  var timings: NetworkTimings? {
    get { measured?.timings }
    set { measured = newValue.map(Measured.init) }
  }

  /// Kept apart: few ask for them, and every caller on the way would have room for them.
  private final class Measured: Sendable {
    let timings: NetworkTimings
    init(_ timings: NetworkTimings) { self.timings = timings }
  }
}

extension TransportResponse {
  /// How much of a redirect's body is read to keep its connection; past that, a new connection is cheaper.
  static let redirectDrainLimit = 64 * 1024
  /// How long a redirect's body is waited for, for the same reason.
  static let redirectDrainPatience = Duration.milliseconds(500)
  /// How far an announced length is believed before the bytes are there.
  static let reservationLimit = 16 * 1024 * 1024

  /// Pulls the body to its end.
  @concurrent func collect() async throws -> CollectedResponse {
    // A body that comes in one piece, as most do, is handed on without copying it.
    guard let first = try await body.next() else {
      return CollectedResponse(head: head, data: Data(), timings: body.timings, redirect: redirect)
    }
    guard let second = try await body.next() else {
      return CollectedResponse(head: head, data: first, timings: body.timings, redirect: redirect)
    }
    var data = Data()
    let announced = Int(clamping: head.contentLength ?? 0)
    data.reserveCapacity(max(first.count + second.count, min(announced, Self.reservationLimit)))
    data.append(first)
    data.append(second)
    while let chunk = try await body.next() { data.append(chunk) }
    return CollectedResponse(head: head, data: data, timings: body.timings, redirect: redirect)
  }

  /// Pulls the body to its end, or to the first byte beyond `limit`, where `tooLong` is thrown.
  @concurrent func collect(limit: Int, orThrow tooLong: any Error) async throws -> CollectedResponse {
    var data = Data()
    while let chunk = try await body.next() {
      data.append(chunk)
      if data.count > limit {
        body.cancel()
        throw tooLong
      }
    }
    return CollectedResponse(head: head, data: data, redirect: redirect)
  }

  /// Reads the rest of a body that is not wanted, so that its connection can be used again; for a moment at most.
  @concurrent func drain() async throws {
    if let length = head.contentLength, length > Int64(Self.redirectDrainLimit) { return body.cancel() }
    // A server that withholds the rest must not hold up the redirect: cancelling ends the wait below.
    let isOver = Locked(false)
    let patience = Task { [body] in
      try await Task.sleep(for: Self.redirectDrainPatience)
      isOver.withLock { $0 = true }
      body.cancel()
    }
    defer { patience.cancel() }
    var drained = 0
    do {
      while drained <= Self.redirectDrainLimit {
        guard let chunk = try await body.next() else { return }
        drained += chunk.count
      }
    } catch let error as CancellationError where Task.isCancelled || !isOver.withLock({ $0 }) {
      throw error
    } catch {
      // The head is all that counts: where to go next is known, and a broken body does not change it.
    }
    body.cancel()
  }
}
