import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A transport's reference to a session and its host. When the last lease of a session without another owner is
/// released, its connections close.
///
/// Unchecked: `held` is only changed in `deinit`.
final class SessionLease: @unchecked Sendable {
  let host: SessionHost
  private var held: URLSession?
  private let key: ObjectIdentifier

  /// - Parameter host: The host that runs the session's exchanges; `nil` for the usual one.
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
