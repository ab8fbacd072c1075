import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What the user's own session delegate said about a redirect, which was not followed below the `Transport` seam.
enum RedirectDecision: Sendable {
  /// There was no delegate to ask, or the proposed request was handed back as it was: the redirect is followed by the
  /// usual rules.
  case undecided
  /// The delegate declined: the redirect is the result, with its body.
  case declined
  /// The delegate wants this request to be sent instead, with the body that is in it.
  case request(URLRequest)
}
