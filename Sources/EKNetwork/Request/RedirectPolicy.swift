/// What happens when the server responds with a redirect (RFC 9110 §15.4).
public enum RedirectPolicy: Sendable, Equatable {
  /// Follow up to 20 hops. `Authorization`, `Cookie` and other credentials are dropped when the origin changes, a
  /// redirect from https to http is refused, and 307 and 308 send the body again.
  case follow
  /// Hand the redirect back as it came: `send` throws an ``HTTPError`` that carries its status and headers.
  case reject
}
