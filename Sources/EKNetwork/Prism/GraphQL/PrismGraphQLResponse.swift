import Foundation

/// The response of a GraphQL server to an operation: data, errors, or both (§7.1 of the specification).
public struct PrismGraphQLResponse<T: Decodable & Sendable>: Sendable {
  /// The data; `nil` if the operation returned none. If there are errors, it may be partial: the fields that failed are
  /// `null`, which `T` has to allow. If `T` does not allow it, this is `nil`, and the errors tell why.
  public let data: T?
  /// The errors, if any.
  public let errors: [PrismGraphQLError]?
  /// Additional information from the server.
  public let extensions: [String: PrismGraphQLValue]?

  /// Creates a response as a server would send it, for tests.
  public init(
    data: T? = nil, errors: [PrismGraphQLError]? = nil, extensions: [String: PrismGraphQLValue]? = nil
  ) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
  }
}

extension PrismGraphQLResponse: Decodable {
  private enum Key: CodingKey {
    case data, errors, extensions
  }

  /// Decodes a response. Throws for one with neither data nor errors, and if `data` is not a `T` and there is no error.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    errors = try container.decodeIfPresent([PrismGraphQLError].self, forKey: .errors)
    extensions = try? container.decode([String: PrismGraphQLValue].self, forKey: .extensions)
    let hasErrors = errors?.isEmpty == false
    guard container.contains(.data) || hasErrors else {
      throw DecodingError.keyNotFound(
        Key.data, DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "Neither data nor errors."))
    }
    do {
      data = try container.decodeIfPresent(T.self, forKey: .data)
    } catch {
      guard hasErrors else { throw error }
      data = nil
    }
  }
}
