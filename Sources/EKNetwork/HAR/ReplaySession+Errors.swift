import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension ReplaySession {
  /// An error for a request without a recorded response. ``NetworkManager`` throws it unchanged, and does not retry the
  /// request.
  public struct UnexpectedRequest: NonRetriableError, LocalizedError, Equatable, Sendable, CustomStringConvertible {
    /// The reason why there is no response.
    public enum Reason: Sendable, Equatable {
      /// No request with this method and URL was recorded.
      case notRecorded
      /// The method and the URL were recorded, but not with this body.
      case otherBody
      /// The method and the URL were recorded, but not with these conditions, such as `Range`.
      case otherFields
      /// The method and the URL were recorded, but for another user.
      case otherCredentials
      /// The request was recorded, but each response has been used already.
      case usedUp
    }

    /// The maximum number of recorded requests in the description.
    private static let listed = 20

    /// The method and the URL, as written in the recording: its secrets are hidden if those of the recording are.
    public let request: String
    /// The reason why there is no response.
    public let reason: Reason
    /// The requests of the recording in order; those whose response was used end in ` (used)`.
    public let recorded: [String]

    /// A description of the request and of the recorded ones, in one line.
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
      case .notRecorded: "no request with this method and URL was recorded"
      case .otherBody: "recorded with a different body"
      case .otherFields: "recorded with different conditional headers"
      case .otherCredentials: "recorded with different credentials"
      case .usedUp: "all recorded responses were used"
      }
    }
  }

  /// An error for a recorded response that cannot be replayed.
  public enum Failure: NonRetriableError, LocalizedError, Equatable, Sendable {
    /// The request failed when it was recorded, with an error that is not a `URLError`. The text names its type.
    case recorded(String)
    /// The recording does not contain the whole body: it was longer than ``HAROptions/maximumBodySize``, or a tool has
    /// left it out, or did not know its size. The text is the request. A stream first returns the recorded part.
    case incompleteBody(String)

    /// A description of the error, in one line.
    public var errorDescription: String? {
      switch self {
      case .recorded(let text): "The request failed when it was recorded: \(text)"
      case .incompleteBody(let request): "The recording does not contain the whole body of \(request)"
      }
    }

    /// Returns the error that a recorder wrote as this text.
    static func error(named text: String) -> any Error {
      let words = text.split(separator: " ")
      guard words.count == 2, words[0] == "URLError", let number = Int(words[1]) else { return Failure.recorded(text) }
      // On Linux, not every number is a valid code.
      let code: URLError.Code? = URLError.Code(rawValue: number)
      return code.map { URLError($0) } ?? Failure.recorded(text)
    }
  }
}
