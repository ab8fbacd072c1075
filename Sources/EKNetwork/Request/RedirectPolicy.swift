/// How redirects are handled (RFC 9110 §15.4).
public enum RedirectPolicy: Sendable, Equatable {
  /// Follows up to 20 redirects. `Authorization`, `Cookie`, `Proxy-Authorization` and `Host`, and fields named after
  /// tokens, keys, passwords or sessions, are removed when the origin changes; a redirect from https to http is refused;
  /// 307 and 308 send the body again.
  case follow
  /// Returns the redirect itself: `send` throws an ``HTTPError`` with its status and headers.
  case reject
}
