/// How a request uses the connections to its origin.
enum ConnectionUse {
  /// It may share a connection with others, as HTTP/2 allows.
  case shares
  /// A connection is opened for it, which others may share later.
  case opensNew
  /// It is sent over HTTP/1.1, perhaps over an idle connection, although its origin may speak HTTP/2. Nothing follows
  /// from its connection for those that are shared.
  case neverShares
}
