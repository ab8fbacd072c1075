import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ReplaySession {
  /// A request for which there is no recorded response. It passes through ``NetworkManager`` as it is, and is not tried
  /// again.
  public struct UnexpectedRequest: NonRetriableError, LocalizedError, Equatable, Sendable, CustomStringConvertible {
    /// What is not there.
    public enum Reason: Sendable, Equatable {
      /// The method and the URL.
      case notRecorded
      /// They are, but not with this body.
      case otherBody
      /// They are, but not with these conditions, such as `Range`.
      case otherFields
      /// They are, but for another user.
      case otherCredentials
      /// They are, but each response was given already.
      case usedUp
    }

    /// How many recorded requests the description lists.
    private static let listed = 20

    /// The method and the URL, as the recording writes it: its secrets are hidden where those of the recording are.
    public let request: String
    /// What is not there.
    public let reason: Reason
    /// The requests of the recording in their order; those whose response was given end in ` (used)`.
    public let recorded: [String]

    /// What was asked for, and what there is of it, in one line.
    public var description: String {
      var text = "No recorded response for \(request): \(explanation). "
      guard !recorded.isEmpty else { return text + "The recording is empty." }
      text += "Recorded: " + recorded.prefix(Self.listed).joined(separator: ", ")
      if recorded.count > Self.listed { text += " and \(recorded.count - Self.listed) more" }
      return text
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }

    private var explanation: String {
      switch reason {
      case .notRecorded: "there is no such method and URL"
      case .otherBody: "its body is another"
      case .otherFields: "its conditions are others"
      case .otherCredentials: "its credentials are others"
      case .usedUp: "each one was given"
      }
    }
  }

  /// A recorded response that cannot be given as it was.
  public enum Failure: NonRetriableError, LocalizedError, Equatable, Sendable {
    /// The request failed when it was recorded, with an error that is no `URLError`. The text names its kind.
    case recorded(String)
    /// The recording has not the whole body: it was longer than ``HAROptions/maximumBodySize``, or a tool has left it
    /// out. The text is the request. A stream gets what there is first.
    case incompleteBody(String)

    /// What is wrong, in one line.
    public var errorDescription: String? {
      switch self {
      case .recorded(let text): "The request failed when it was recorded: \(text)"
      case .incompleteBody(let request): "The recording has not the whole body of \(request)"
      }
    }

    /// The error that a recorder has named so.
    static func error(named text: String) -> any Error {
      let words = text.split(separator: " ")
      guard words.count == 2, words[0] == "URLError", let number = Int(words[1]) else { return Failure.recorded(text) }
      // On Linux not every number is a code.
      let code: URLError.Code? = URLError.Code(rawValue: number)
      return code.map { URLError($0) } ?? Failure.recorded(text)
    }
  }
}
