import Foundation

/// The implementation below a session has refused a setting that safety, or the meaning of a request, depends on: it does not
/// know it, or not the value. Nothing has been sent.
public struct TransportOptionError: LocalizedError, NonRetriableError, Equatable, Sendable {
  /// The setting, by its name in the implementation, such as `CURLOPT_PINNEDPUBLICKEY`.
  public let option: String
  /// The implementation and its version, such as `libcurl 7.88.1`.
  public let library: String

  /// An error as the library would throw it, for tests.
  public init(option: String, library: String) {
    self.option = option
    self.library = library
  }

  /// Names the setting and the implementation. The value, which may be a secret, is never part of it.
  public var errorDescription: String? { "\(library) has refused \(option), and the request was not sent" }
}
