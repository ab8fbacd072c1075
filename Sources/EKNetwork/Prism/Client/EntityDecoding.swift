import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Decodes entities from response bodies.
enum EntityDecoding {
  static func decode<Value: Decodable>(
    _ type: Value.Type, from data: Data, with formatter: DateFormatter?
  ) throws -> Value {
    if let value = data as? Value { return value }
    if let value = EmptyResponse() as? Value { return value }
    let decoder = JSONDecoder()
    if let formatter {
      decoder.dateDecodingStrategy = .formatted(formatter)
    } else {
      decoder.dateDecodingStrategy = .custom(date)
    }
    return try decoder.decode(type, from: data)
  }

  @Sendable private static func date(from decoder: any Decoder) throws -> Date {
    let container = try decoder.singleValueContainer()
    guard let text = try? container.decode(String.self) else {
      // The default strategy of `JSONDecoder` and `JSONEncoder`.
      return Date(timeIntervalSinceReferenceDate: try container.decode(Double.self))
    }
    for style in [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)] {
      if let date = try? style.parse(text) { return date }
    }
    throw DecodingError.dataCorruptedError(in: container, debugDescription: "\"\(text)\" is not a date of ISO 8601.")
  }
}

extension EntityDecoding {
  /// Decodes the body of a response with the request's own `decode`. A decoding error is reported as an invalid
  /// response, unless the request throws a `PrismNetworkError` or a `PrismNetworkFailure` of its own.
  static func decode<Request: PrismNetworkRequest>(
    _ entry: PrismCacheEntry, for request: Request, sentAs urlRequest: URLRequest, with formatter: DateFormatter?
  ) throws -> Request.Response {
    do {
      return try request.decode(data: entry.data, with: formatter)
    } catch is CancellationError {
      throw CancellationError()
    } catch {
      let own = error as? PrismNetworkFailure
      var failure = PrismNetworkFailure(
        own?.error ?? error as? PrismNetworkError ?? .invalidResponse,
        because: own.map { $0.underlyingError ?? $0.error } ?? error, url: urlRequest.url, statusCode: entry.statusCode,
        headers: entry.headers, data: entry.data)
      failure.method = urlRequest.httpMethod
      failure.repeatability = Repeatability(after: failure, isIdempotent: urlRequest.isIdempotent)
      throw failure
    }
  }
}
