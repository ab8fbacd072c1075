import Foundation

/// An error of a response that is no stream of server-sent events (WHATWG HTML §9.2.3, "fail the connection").
public enum EventStreamError: Error, Equatable, Sendable {
  /// The response is successful, but is not an event stream.
  case unexpectedContentType(String?)
  /// The response has a 2xx status other than 200, which starts a stream, and 204, which ends the subscription.
  case unexpectedStatus(Int)
}

extension EventStreamError: ClassifiedError {
  /// Creates the error of a successful response with that `Content-Type`; `nil` if it is an event stream.
  init?(contentType: String?) {
    guard contentType?.mediaType != "text/event-stream" else { return nil }
    self = .unexpectedContentType(contentType)
  }

  var failureKind: FailureKind { .completed }
}

extension EventStreamError: LocalizedError {
  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .unexpectedContentType(let type): "Expected text/event-stream, received \(type ?? "no Content-Type")"
    case .unexpectedStatus(let status): "An event stream cannot have the status code \(status)"
    }
  }
}
