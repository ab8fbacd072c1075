import Foundation

/// The variables of an operation, as JSON.
struct GraphQLVariables: Encodable {
  private let value: any Encodable

  /// Creates the variables of a query; `nil` if it has none.
  init?(_ query: PrismGraphQLQuery) {
    if let encodable = query.encodableVariables {
      value = encodable
    } else if let variables = query.variables {
      value = GraphQLVariable(value: variables as [String: Any])
    } else {
      return nil
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }
}

/// An encodable wrapper of a value that may contain values of any type.
private struct GraphQLVariable: Encodable {
  let value: Any

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch value {
    case is NSNull: try container.encodeNil()
    case let value as any Encodable: try container.encode(value)
    case let values as [String: Any]: try container.encode(values.mapValues(GraphQLVariable.init))
    case let values as [Any]: try container.encode(values.map(GraphQLVariable.init))
    case let value as (any OptionalValue):
      guard let wrapped = value.wrappedValue else { return try container.encodeNil() }
      try container.encode(GraphQLVariable(value: wrapped))
    default:
      throw EncodingError.invalidValue(
        value,
        EncodingError.Context(
          codingPath: encoder.codingPath, debugDescription: "A variable of the type \(type(of: value)) has no JSON."))
    }
  }
}

/// An optional of any type.
private protocol OptionalValue {
  var wrappedValue: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrappedValue: Any? { map { $0 as Any } }
}
