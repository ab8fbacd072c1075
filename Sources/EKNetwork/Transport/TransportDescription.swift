import Foundation

/// The implementation that sends the requests of ordinary sessions in this process, and what it supports.
///
/// On Apple's platforms that is `URLSession`. On Linux it is the library's own HTTP on connections that the installed
/// libcurl opens: each distribution ships another version, with its own defects, and ``workarounds`` lists what is done
/// about them. Where no usable libcurl is installed, Foundation's own `URLSession` is used instead, and ``reason`` says
/// what to install.
///
/// ```swift
/// print(TransportDescription.current)
/// ```
public struct TransportDescription: Sendable, Hashable, CustomStringConvertible {
  /// The implementations that can send requests.
  public enum Implementation: String, Sendable, Hashable {
    /// The library's own HTTP, on connections that libcurl opens.
    case libcurl
    /// Foundation's `URLSession`.
    case urlSession
  }

  /// A defect or limit of this version of the implementation, and what is done about it.
  public struct Workaround: Sendable, Hashable {
    /// A short name of the defect.
    public let name: String
    /// The first version that has the defect; `nil` if all earlier ones have it, too.
    public let since: String?
    /// The first version that no longer has the defect; `nil` if none so far.
    public let until: String?
    /// What the library does instead.
    public let remedy: String

    /// Creates a workaround as the library describes it, for tests.
    public init(name: String, since: String?, until: String?, remedy: String) {
      self.name = name
      self.since = since
      self.until = until
      self.remedy = remedy
    }
  }

  /// The implementation that sends requests.
  public let implementation: Implementation
  /// The version of libcurl, such as `8.5.0`; `nil` if it is not used.
  public let version: String?
  /// The TLS library and its version, such as `OpenSSL/3.0.17`; `nil` if that is not known.
  public let tlsLibrary: String?
  /// The supported features: `http2`, `ipv6`, `tls`, `pinning`, `asynchronousNames`.
  public let capabilities: Set<String>
  /// The workarounds for the defects of this version.
  public let workarounds: [Workaround]
  /// Why libcurl is not used and what to install, in one sentence; `nil` if it is used, and on Apple's platforms.
  public let reason: String?

  /// Creates a description as the library reports it, for tests.
  public init(
    implementation: Implementation, version: String? = nil, tlsLibrary: String? = nil, capabilities: Set<String> = [],
    workarounds: [Workaround] = [], reason: String? = nil
  ) {
    self.implementation = implementation
    self.version = version
    self.tlsLibrary = tlsLibrary
    self.capabilities = capabilities
    self.workarounds = workarounds
    self.reason = reason
  }

  /// The implementation that this process uses. The first access may load libcurl.
  public static let current = described()

  /// A text with one line for each known property.
  public var description: String {
    var lines = ["implementation: \(implementation.rawValue)"]
    if let version { lines[0] += " \(version)" }
    if let tlsLibrary { lines.append("TLS: \(tlsLibrary)") }
    if !capabilities.isEmpty { lines.append("capabilities: \(capabilities.sorted().joined(separator: ", "))") }
    for workaround in workarounds {
      let versions = [workaround.since.map { "since \($0)" }, workaround.until.map { "until \($0)" }].compactMap { $0 }
      let range = versions.isEmpty ? "all versions" : versions.joined(separator: ", ")
      lines.append("\(workaround.name) (\(range)): \(workaround.remedy)")
    }
    if let reason { lines.append(reason) }
    return lines.joined(separator: "\n")
  }

  /// The description as log metadata, without the capabilities.
  var metadata: [String: String] {
    var metadata = ["implementation": implementation.rawValue]
    metadata["version"] = version
    metadata["tls"] = tlsLibrary
    metadata["reason"] = reason
    if !workarounds.isEmpty { metadata["workarounds"] = workarounds.map(\.name).joined(separator: ",") }
    return metadata
  }

  private static func described() -> TransportDescription {
    #if os(Linux)
      switch CurlLibrary.state {
      case .success(let capabilities): TransportDescription(capabilities)
      case .failure(let unusable): TransportDescription(implementation: .urlSession, reason: unusable.reason)
      }
    #else
      TransportDescription(implementation: .urlSession)
    #endif
  }
}

#if os(Linux)
  extension TransportDescription {
    init(_ curl: CurlCapabilities) {
      let features: [(name: String, isThere: Bool)] = [
        ("http2", curl.opensHTTP2),
        ("ipv6", curl.features.contains(.ipv6)),
        ("tls", curl.features.contains(.tls)), ("pinning", !curl.missingOptions.contains(.pinnedpublickey)),
        ("asynchronousNames", curl.features.contains(.asynchronousResolver)),
      ]
      self.init(
        implementation: .libcurl, version: "\(curl.version)", tlsLibrary: curl.tlsLibrary,
        capabilities: Set(features.filter(\.isThere).map(\.name)),
        workarounds: CurlDefect.allCases.filter(curl.defects.contains).map(Workaround.init))
    }
  }

  extension TransportDescription.Workaround {
    init(_ defect: CurlDefect) {
      self.init(
        name: defect.rawValue,
        since: defect.versions.lowerBound == CurlDefect.always.lowerBound ? nil : "\(defect.versions.lowerBound)",
        until: defect.versions.upperBound == CurlDefect.always.upperBound ? nil : "\(defect.versions.upperBound)",
        remedy: defect.remedy)
    }
  }
#endif
