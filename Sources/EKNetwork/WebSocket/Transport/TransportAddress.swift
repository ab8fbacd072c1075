/// Where a byte transport connects to.
struct TransportAddress: Sendable, Equatable {
  /// A name or an address, an IPv6 address without brackets.
  var host: String
  var port: Int
  var isSecure: Bool
  /// A PEM file of certificate authorities instead of the system's, for tests.
  var authorityFile: String?

  /// As it stands in a URL.
  var hostInURL: String { host.contains(":") ? "[\(host)]" : host }
}
