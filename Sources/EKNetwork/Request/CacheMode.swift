/// How a request uses the ``HTTPCache`` of its manager: the modes of the Fetch standard.
///
/// Without a cache they have no effect. In `default` mode, a request with a condition of its own (`If-None-Match`,
/// `If-Modified-Since`, `If-Match`, `If-Unmodified-Since`, `If-Range`) bypasses the cache: its caller has a copy.
public enum CacheMode: String, CaseIterable, Sendable {
  /// Uses a fresh response, validates a stale one, and stores what may be stored (RFC 9111). The request's own
  /// `Cache-Control` field is obeyed.
  case `default`
  /// Neither reads nor changes the cache, except for the invalidation by unsafe methods.
  case noStore
  /// Sends the request whatever is stored, with `Cache-Control: no-cache` for intermediate caches, and stores the
  /// response.
  case reload
  /// Validates the stored response, fresh or stale, with `Cache-Control: max-age=0` for intermediate caches. An
  /// `immutable` response is used as long as it is fresh (RFC 8246).
  case noCache
  /// Uses the stored response, fresh or stale, and sends the request only if there is none.
  case forceCache
  /// Uses the stored response, fresh or stale; throws `URLError.resourceUnavailable` if there is none. Nothing is sent.
  case onlyIfCached
}
