import Foundation

/// What a GraphQL server made of an operation: data, errors, or both (§7.1 of the specification).
public struct PrismGraphQLResponse<T: Decodable & Sendable>: Sendable {
  /// The data; `nil` where the operation came to none. Beside errors it may be partial: the fields that failed are
  /// `null`, which `T` has to allow. If it does not, there is no data, and the errors say why.
  public let data: T?
  /// What went wrong, if anything.
  public let errors: [PrismGraphQLError]?
  /// What else the server says.
  public let extensions: [String: PrismGraphQLValue]?

  /// A response as a server would send it, for tests.
  public init(data: T?, errors: [PrismGraphQLError]? = nil, extensions: [String: PrismGraphQLValue]? = nil) {
    self.data = data
    self.errors = errors
    self.extensions = extensions
  }
}

extension PrismGraphQLResponse: Decodable {
  private enum Key: CodingKey {
    case data, errors, extensions
  }

  /// Reads a response. Throws for one with neither data nor errors, and where `data` is not a `T` without an error
  /// being named.
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
