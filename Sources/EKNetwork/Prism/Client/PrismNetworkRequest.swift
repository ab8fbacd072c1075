import Foundation

/// An endpoint together with the type of its response.
public protocol PrismNetworkRequest: Sendable {
  /// The type of the endpoint.
  associatedtype Endpoint: PrismNetworkEndpoint
  /// The type of the decoded response: usually a ``PrismEntity``, or an array of them.
  associatedtype Response: Decodable & Sendable

  /// The endpoint of the request: its URL, method, header fields and body.
  var endpoint: Endpoint { get }

  /// Decodes the body of a successful response.
  ///
  /// The default decodes JSON. With a formatter, dates are strings in its format; without one, ISO 8601 strings (with
  /// or without fractional seconds) or the numbers that `JSONEncoder` writes. A `Data` response is the body unchanged;
  /// an ``EmptyResponse`` ignores the body.
  func decode(data: Data, with formatter: DateFormatter?) throws -> Response
}

extension PrismNetworkRequest {
  // The requirement documents the default.
  // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
  public func decode(data: Data, with formatter: DateFormatter?) throws -> Response {
    try EntityDecoding.decode(Response.self, from: data, with: formatter)
  }
}
