/// How a request uses the ``HTTPCache`` of its manager: the modes of the Fetch standard.
///
/// Without a cache they mean nothing. A request that states a condition of its own (`If-None-Match`,
/// `If-Modified-Since`, `If-Match`, `If-Unmodified-Since`, `If-Range`) is sent as it is with `default`: it is the
/// caller who has the copy.
public enum CacheMode: String, CaseIterable, Sendable {
  /// Uses a fresh response, validates a stale one, and stores what may be stored (RFC 9111). The request's own
  /// `Cache-Control` field counts.
  case `default`
  /// Neither looks into the cache nor changes it, but for what an unsafe method invalidates.
  case noStore
  /// Sends the request whatever is stored, with `Cache-Control: no-cache` for the caches on the way, and stores the
  /// response.
  case reload
  /// Validates what is stored, be it fresh or stale; with `Cache-Control: max-age=0` for the caches on the way. A
  /// response that its server calls `immutable` is used as long as it is fresh (RFC 8246).
  case noCache
  /// Uses what is stored, fresh or stale, and sends the request only if nothing is.
  case forceCache
  /// Uses what is stored, fresh or stale; if nothing is, `URLError.resourceUnavailable`. Nothing is sent.
  case onlyIfCached
}
