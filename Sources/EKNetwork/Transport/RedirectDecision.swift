import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The decision of the user's session delegate about a redirect, which was not followed below the `Transport` seam.
enum RedirectDecision: Sendable {
  /// There was no delegate, or it returned the proposed request unchanged: the redirect is followed by the usual rules.
  case undecided
  /// The delegate declined: the redirect response is the result, with its body.
  case declined
  /// The delegate returned another request to be sent instead, with the body that it contains.
  case request(URLRequest)
}
