/// For which requests the library itself speaks. For the others libcurl does.
struct HTTP1Choice: Sendable {
  /// Whether it speaks HTTP/1.1 at all.
  let isOn: Bool
  /// Whether it speaks HTTP/2, too.
  var speaksHTTP2 = false
  /// Whether there may be a proxy that is sent `http` URLs (RFC 9112 §3.2.2): libcurl speaks to it.
  let mayUseHTTPProxy: Bool

  /// - Parameters:
  ///   - mayOfferHTTP2: Whether libcurl may offer HTTP/2 to the server (RFC 7301).
  ///   - hasChosenHTTP1: Whether it has chosen HTTP/1.1 instead. Until it has, libcurl offers HTTP/2, unless the library
  ///     itself does. Only evaluated if it matters.
  func isOwn(isSecure: Bool, mayOfferHTTP2: Bool, hasChosenHTTP1: @autoclosure () -> Bool) -> Bool {
    guard isSecure else { return isOn && !mayUseHTTPProxy }
    return isOn && (speaksHTTP2 || !mayOfferHTTP2 || hasChosenHTTP1())
  }
}

/// The origins that have chosen HTTP/1.1 where HTTP/2 was offered, for those who trust the same and show the same
/// certificate.
struct HTTP1Origins {
  private struct Key: Hashable {
    let connection: ConnectionIdentity
    let origin: Origin
  }

  /// How long to remember one, in nanoseconds: a server may learn HTTP/2.
  private static let lifetime: UInt64 = 600 * 1_000_000_000
  private static let maximum = 1_000

  private var ends: [Key: UInt64] = [:]

  func contains(_ origin: Origin, _ connection: ConnectionIdentity, now: UInt64) -> Bool {
    guard !ends.isEmpty, let end = ends[Key(connection: connection, origin: origin)] else { return false }
    return end > now
  }

  mutating func insert(_ origin: Origin, _ connection: ConnectionIdentity, now: UInt64) {
    if ends.count >= Self.maximum {
      ends = ends.filter { $0.value > now }
      // Each costs one connection to ask again.
      if ends.count >= Self.maximum { ends.removeAll() }
    }
    ends[Key(connection: connection, origin: origin)] = now.addingClamped(Self.lifetime)
  }
}
