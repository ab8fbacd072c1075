import Foundation

/// Which implementation carries the requests of ordinary sessions in this process, and what it can do.
///
/// On Apple's platforms that is `URLSession`. On Linux it is the libcurl of the machine: each distribution ships another
/// version, with limits and defects of its own, and ``workarounds`` says what is done about them. Where there is no libcurl
/// that can be used, Foundation's own `URLSession` stands in, and ``reason`` says what to install.
///
/// ```swift
/// print(TransportDescription.current)
/// ```
public struct TransportDescription: Sendable, Hashable, CustomStringConvertible {
  /// What carries requests.
  public enum Implementation: String, Sendable, Hashable {
    /// libcurl itself.
    case libcurl
    /// Foundation's `URLSession`.
    case urlSession
  }

  /// A defect, or a limit, of this version of the implementation, and what is done instead.
  public struct Workaround: Sendable, Hashable {
    /// A short name.
    public let name: String
    /// The first version that has it; `nil` for all.
    public let since: String?
    /// The first version that no longer has it; `nil` for none so far.
    public let until: String?
    /// What is done instead.
    public let remedy: String

    /// A workaround as the library would describe it, for tests.
    public init(name: String, since: String?, until: String?, remedy: String) {
      self.name = name
      self.since = since
      self.until = until
      self.remedy = remedy
    }
  }

  /// What carries requests.
  public let implementation: Implementation
  /// The version of libcurl, such as `8.5.0`; `nil` where it is not used.
  public let version: String?
  /// The library that does TLS, and its version, such as `OpenSSL/3.0.17`; `nil` where that is not known.
  public let tlsLibrary: String?
  /// What it can do: `http2`, `ipv6`, `tls`, `pinning`, `asynchronousNames`.
  public let capabilities: Set<String>
  /// What is done about this version's defects, by name.
  public let workarounds: [Workaround]
  /// Why libcurl is not used, and what to install, in one sentence; `nil` where it is, and on Apple's platforms.
  public let reason: String?

  /// A description as the library would make it, for tests.
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

  /// What this process uses. The first call may open libcurl.
  public static let current = described()

  /// One line for each thing that is known.
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

  /// The description for a log, without what is the same everywhere.
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
        ("http2", curl.speaksHTTP2), ("ipv6", curl.features.contains(.ipv6)),
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
