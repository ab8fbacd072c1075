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
