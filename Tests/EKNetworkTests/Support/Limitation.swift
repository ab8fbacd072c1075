@testable import EKNetwork

/// Incorrect behaviour of FoundationNetworking that no client of it can change. A test that meets one expects its
/// error, or is cancelled under its name.
enum Limitation: String, Sendable {
  case endsTheProcess = "FoundationNetworking ends the process"
  case losesTheAnswer = "FoundationNetworking does not take the header line, and loses the answer"
  case waitsForTheTimeout = "FoundationNetworking waits for the timeout"
  case believesIt = "FoundationNetworking takes it for a whole answer"
  case callsItAnUnknownCoding = "FoundationNetworking does not tell transfer codings from content codings"
  case oneCaseWins = "FoundationNetworking keeps one of two fields whose names differ in case"
  case namesNoReason = "FoundationNetworking does not say that the head was too long"

  /// The error that is thrown instead; `nil` where there is no point in provoking it.
  var code: URLError.Code? {
    switch self {
    case .losesTheAnswer, .namesNoReason: .badServerResponse
    case .callsItAnUnknownCoding: .cannotDecodeContentData
    case .endsTheProcess, .waitsForTheTimeout, .believesIt, .oneCaseWins: nil
    }
  }
}
