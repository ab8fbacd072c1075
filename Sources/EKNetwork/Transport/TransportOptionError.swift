import Foundation

/// An error thrown when libcurl does not support a setting that security, or the meaning of the request, depends on.
/// Nothing has been sent.
public struct TransportOptionError: LocalizedError, NonRetriableError, Equatable, Sendable {
  /// The name of the setting in the implementation, such as `CURLOPT_PINNEDPUBLICKEY`.
  public let option: String
  /// The implementation and its version, such as `libcurl 7.88.1`.
  public let library: String

  /// Creates an error as the library throws it, for tests.
  public init(option: String, library: String) {
    self.option = option
    self.library = library
  }

  /// A description that names the setting and the implementation. It never includes the value, which may be a secret.
  public var errorDescription: String? { "\(library) has refused \(option), and the request was not sent" }
}
