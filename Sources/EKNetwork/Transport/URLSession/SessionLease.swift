import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport's hold on a session and on what runs its exchanges. With the last hold on a session that has no other
/// owner, its connections close.
///
/// Unchecked: `held` is changed by `deinit` alone.
final class SessionLease: @unchecked Sendable {
  let host: SessionHost
  private var held: URLSession?
  private let key: ObjectIdentifier

  /// - Parameter host: What runs the session's exchanges, if that is not the usual one.
  init(_ session: URLSession, host: SessionHost? = nil) {
    self.host = host ?? SessionHost.shared(for: session)
    held = session
    key = ObjectIdentifier(session)
  }

  deinit {
    held = nil
    SessionHost.sessionMayBeGone(key)
  }
}
