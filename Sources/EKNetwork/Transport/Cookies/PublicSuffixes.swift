import Foundation

#if os(Linux)
  import CCurl
#endif

/// The names below which anyone may register a name, such as `co.uk` and `github.io`: no host may set a
/// cookie for all of them (RFC 6265 §5.3, step 5).
struct PublicSuffixes: Sendable {
  /// Whether a name is one; `nil` where that is unknown.
  let contains: @Sendable (_ domain: String) -> Bool?
  /// The part of a host's name that was registered; `nil` where there is none, or it is unknown.
  let registrableDomain: @Sendable (_ host: String) -> String?

  /// Without a list.
  static let unknown = PublicSuffixes(contains: { _ in nil }, registrableDomain: { _ in nil })

  #if os(Linux)
    /// That of libpsl, where the system has it.
    static let system: PublicSuffixes = {
      guard ekn_psl_available() else { return .unknown }
      return PublicSuffixes(
        contains: { ekn_psl_is_public_suffix($0) },
        registrableDomain: { host in
          host.withCString { name in ekn_psl_registrable_domain(name).map { String(cString: $0) } }
        })
    }()
  #else
    static let system = unknown
  #endif

  /// Whether two URLs belong to one site: their schemes are the same, and what is registered of their hosts' names
  /// (RFC 6265bis §5.2). Where that is not known, the hosts.
  func areSameSite(_ first: URL, _ second: URL) -> Bool {
    guard first.scheme?.lowercased() == second.scheme?.lowercased(), let one = first.host?.lowercased(),
      let other = second.host?.lowercased()
    else { return false }
    if one == other { return true }
    guard !one.isIPAddress, !other.isIPAddress, let domain = registrableDomain(one) else { return false }
    return domain == registrableDomain(other)
  }
}

extension String {
  /// Whether a host is an address: it has no domains above it.
  var isIPAddress: Bool {
    contains(":") || split(separator: ".", omittingEmptySubsequences: false).allSatisfy { UInt8($0) != nil }
  }
}
