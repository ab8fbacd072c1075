import Foundation

/// An endpoint together with the type of its response.
public protocol PrismNetworkRequest: Sendable {
  /// The kind of endpoint.
  associatedtype Endpoint: PrismNetworkEndpoint
  /// What the response decodes to: usually a ``PrismEntity``, or an array of them.
  associatedtype Response: Decodable & Sendable

  /// Where the request goes, and what it carries.
  var endpoint: Endpoint { get }

  /// Makes the value from the body of a successful response.
  ///
  /// The default decodes JSON. With a formatter, dates are strings of its format; without one, ISO 8601 strings (with
  /// or without fractions of a second) or the numbers that `JSONEncoder` writes. A `Data` response is the body as it
  /// came, an ``EmptyResponse`` ignores it.
  func decode(data: Data, with formatter: DateFormatter?) throws -> Response
}

extension PrismNetworkRequest {
  // The requirement documents the default.
  // swift-format-ignore: AllPublicDeclarationsHaveDocumentation
  public func decode(data: Data, with formatter: DateFormatter?) throws -> Response {
    try EntityDecoding.decode(Response.self, from: data, with: formatter)
  }
}
