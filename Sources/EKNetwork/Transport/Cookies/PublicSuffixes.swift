import Foundation

#if os(Linux)
  import CCurl
#endif

/// The names below which anyone may register a name, such as `co.uk` and `github.io`, so that no host may set a cookie
/// for all of them (RFC 6265 §5.3, step 5).
struct PublicSuffixes: Sendable {
  /// Returns whether a name is a public suffix, or `nil` if that is unknown.
  let contains: @Sendable (_ domain: String) -> Bool?
  /// Returns the registrable domain of a host, or `nil` if there is none or it is unknown.
  let registrableDomain: @Sendable (_ host: String) -> String?

  /// The suffixes without a list, none of which is known.
  static let unknown = PublicSuffixes(contains: { _ in nil }, registrableDomain: { _ in nil })

  #if os(Linux)
    /// The list of libpsl, if it is installed.
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

  /// Returns whether two URLs are same-site: they have the same scheme and the same registrable domain (RFC 6265bis
  /// §5.2) or, if that is not known, the same host.
  func areSameSite(_ first: URL, _ second: URL) -> Bool {
    guard first.scheme?.lowercased() == second.scheme?.lowercased(), let one = first.host?.lowercased(),
      let other = second.host?.lowercased()
    else { return false }
    if one == other { return true }
    guard !HostSyntax.isAddress(one), !HostSyntax.isAddress(other), let domain = registrableDomain(one) else {
      return false
    }
    return domain == registrableDomain(other)
  }
}
