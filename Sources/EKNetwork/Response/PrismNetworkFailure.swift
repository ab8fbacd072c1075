import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A ``PrismNetworkError`` with what was behind it.
///
/// The error itself is an enum without payloads, so that code may switch over it. What caused it travels beside it in
/// two task-local ways, so that it reaches the caller that asks, through any number of layers, and no other:
/// - ``detailed(_:)`` throws this type in the place of the errors of what it runs.
/// - ``current`` is what a ``PrismRetryPolicy`` is being asked about.
public struct PrismNetworkFailure: Error, Sendable {
  /// What is thrown without this type.
  public let error: PrismNetworkError
  /// What caused it: a `URLError`, an ``HTTPError``, a `DecodingError`, an ``InvalidHeaderError``, an `EncodingError`,
  /// a ``WebSocketError``, or what the request's own `decode(data:with:)` threw.
  public let underlyingError: (any Error)?
  /// Where the request went, as far as that was known.
  public let url: URL?
  /// The status of the response, if there was one.
  public let statusCode: Int?
  /// The header fields of the response.
  public let headers: [String: String]
  /// The body of the response.
  public let data: Data
  /// Whether the request would do nothing twice if it were sent again.
  var isHarmlessToRepeat = true

  /// A failure as the library would make it, for tests.
  public init(
    _ error: PrismNetworkError, because underlyingError: (any Error)? = nil, url: URL? = nil, statusCode: Int? = nil,
    headers: [String: String] = [:], data: Data = Data()
  ) {
    self.error = error
    self.underlyingError = underlyingError
    self.url = url
    self.statusCode = statusCode
    self.headers = headers
    self.data = data
  }

  /// The failure that a ``PrismRetryPolicy`` is being asked about; `nil` elsewhere.
  public static var current: PrismNetworkFailure? { asked }

  @TaskLocal static var asked: PrismNetworkFailure?

  /// Runs `body`; where it throws a ``PrismNetworkError`` of this library's making, throws its cause with it.
  ///
  /// ```swift
  /// do {
  ///   user = try await PrismNetworkFailure.detailed { try await client.request(on: GetUserRequest(id: "42")) }
  /// } catch let failure as PrismNetworkFailure {
  ///   print(failure.error, failure.statusCode ?? 0, String(decoding: failure.data, as: UTF8.self))
  /// }
  /// ```
  ///
  /// - Throws: ``PrismNetworkFailure``; every other error of `body` as it is.
  public nonisolated(nonsending) static func detailed<Success>(
    _ body: nonisolated(nonsending) () async throws -> Success
  ) async throws -> Success {
    let recorder = Locked<PrismNetworkFailure?>(nil)
    do {
      return try await $recorder.withValue(recorder, operation: body)
    } catch let error as PrismNetworkError {
      guard let failure = recorder.withLock({ $0 }), failure.error == error else { throw PrismNetworkFailure(error) }
      throw failure
    }
  }

  /// Where ``detailed(_:)`` of this task finds the last failure.
  @TaskLocal private static var recorder: Locked<PrismNetworkFailure?>?
}

extension PrismNetworkFailure: LocalizedError {
  /// That of the error.
  public var errorDescription: String? { error.errorDescription }
  /// That of the error.
  public var failureReason: String? { error.failureReason }
  /// That of the error.
  public var recoverySuggestion: String? { error.recoverySuggestion }
}

extension PrismNetworkFailure {
  /// The failure of an exchange that came to no response, or whose response could not be used.
  init(_ error: any Error, url: URL?) {
    switch error {
    case let failure as PrismNetworkFailure: self = failure
    case let error as PrismNetworkError: self.init(error, url: url)
    case let error as HTTPError:
      self.init(
        PrismNetworkError(status: error.statusCode), because: error, url: url, statusCode: error.statusCode,
        headers: error.headers, data: error.data)
    case is InvalidHeaderError: self.init(.badRequest, because: error, url: url)
    case NetworkError.invalidURL: self.init(.invalidURL, because: error, url: url)
    case NetworkError.unauthorized: self.init(.unauthorized, because: error, url: url, statusCode: 401)
    default:
      self.init(error.urlErrorCode.map(PrismNetworkError.init(code:)) ?? .invalidResponse, because: error, url: url)
    }
  }

  /// Whether the server has said that it did nothing, or was never reached.
  var wasNotCarriedOut: Bool {
    if let statusCode { return [408, 425, 429, 503].contains(statusCode) }
    return switch underlyingError?.urlErrorCode {
    case .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet, .internationalRoamingOff,
      .callIsActive, .dataNotAllowed, .secureConnectionFailed:
      true
    default: false
    }
  }

  /// What leaves the library for this failure: the error alone, its cause noted for ``detailed(_:)``.
  var surfaced: PrismNetworkError {
    Self.recorder?.withLock { $0 = self }
    return error
  }

  /// Runs `body`, whose failures become errors.
  static func surfacing<Success>(_ body: () throws -> Success) throws -> Success {
    do { return try body() } catch let failure as PrismNetworkFailure { throw failure.surfaced }
  }

  /// Runs `body`, whose failures become errors.
  static func surfacing<Success: Sendable>(_ body: () async throws -> Success) async throws -> Success {
    do { return try await body() } catch let failure as PrismNetworkFailure { throw failure.surfaced }
  }
}
