import Foundation

/// A ``PrismNetworkError`` with its cause.
///
/// The error itself is an enum without associated values, so that code can switch over it. Its cause is passed
/// separately, in two task-local ways, through any number of layers and only to the caller that requests it:
/// - ``detailed(_:)`` throws this type instead of the errors of the operation that it runs.
/// - ``current`` is the failure that a ``PrismRetryPolicy`` is deciding about.
public struct PrismNetworkFailure: LocalizedError, Redacted, ResponseHeaderFields, Sendable {
  /// The error that is thrown without ``detailed(_:)``.
  public let error: PrismNetworkError
  /// The cause: a `URLError`, an ``HTTPError``, a `DecodingError`, an ``InvalidHeaderError``, an `EncodingError`, a
  /// ``WebSocketError``, or an error of middleware or of the request's own `decode(data:with:)`.
  public let underlyingError: (any Error)?
  /// The method of the request, if there was a response, or an endpoint made the request.
  public internal(set) var method: String?
  /// The URL of the request, if known.
  public let url: URL?
  /// The status of the response, if there was one.
  public let statusCode: Int?
  /// The header fields of the response.
  public let headers: [String: String]
  /// The body of the response.
  public let data: Data
  /// Whether the request may be sent again; `nil` if there was none.
  var repeatability: Repeatability?

  /// Creates a failure as the library would make it, for tests.
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

  /// The header fields in order, repeated ones separate if they were received so.
  public var headerFields: HeaderFieldList {
    (underlyingError as? HTTPError)?.headerFields ?? (underlyingError as? DecodingError)?.response?.headerFields
      ?? HeaderFieldList(headers)
  }

  /// The failure that a ``PrismRetryPolicy`` is deciding about; `nil` elsewhere.
  public static var current: PrismNetworkFailure? { taskLocalFailure }

  @TaskLocal static var taskLocalFailure: PrismNetworkFailure?

  /// Whether every request of the operation that a ``PrismRetryPolicy`` is deciding about can safely be sent again, whatever
  /// error the operation has thrown; `nil` if it is not about an operation, or one without requests.
  @TaskLocal static var operationIsHarmless: Bool?

  /// Runs `body`, and adds the cause to a ``PrismNetworkError`` that the library throws in it.
  ///
  /// ```swift
  /// do {
  ///   user = try await PrismNetworkFailure.detailed { try await client.request(on: GetUserRequest(id: "42")) }
  /// } catch let failure as PrismNetworkFailure {
  ///   print(failure.error, failure.statusCode ?? 0, String(decoding: failure.data, as: UTF8.self))
  /// }
  /// ```
  ///
  /// - Throws: ``PrismNetworkFailure``, without details if the error might be that of several requests: if `body` has caught
  ///   it, and thrown it again, after others of the same value. Every other error of `body` unchanged.
  public nonisolated(nonsending) static func detailed<Success>(
    _ body: nonisolated(nonsending) () async throws -> Success
  ) async throws -> Success {
    let recorded = await recorded(body)
    do { return try recorded.result.get() } catch {
      // The error as it was thrown, which a pattern for its type would copy.
      guard let meaning = error as? PrismNetworkError else { throw error }
      throw recorded.record.details(of: error) ?? PrismNetworkFailure(meaning)
    }
  }

  struct Recorded<Success> {
    let result: Result<Success, any Error>
    let record: FailureRecord
  }

  nonisolated(nonsending) static func recorded<Success>(
    _ body: nonisolated(nonsending) () async throws -> Success
  ) async -> Recorded<Success> {
    let inner = Locked(FailureRecord())
    let result: Result<Success, any Error>
    do {
      result = .success(try await $recorder.withValue(inner, operation: body))
    } catch {
      result = .failure(error)
    }
    let record = inner.withLock { $0 }
    recorder?.withLock { $0.add(record) }
    return Recorded(result: result, record: record)
  }

  /// Runs the renewal of a token, for which other operations may wait as well. Once it has succeeded, its requests are not
  /// repeated with the operation; only if it fails do they count as the operation's own.
  nonisolated(nonsending) static func renewing<Success>(
    _ body: nonisolated(nonsending) () async throws -> Success
  ) async throws -> Success {
    guard let recorder else { return try await body() }
    let inner = Locked(FailureRecord())
    do { return try await $recorder.withValue(inner, operation: body) } catch {
      let record = inner.withLock { $0 }
      recorder.withLock { $0.merge(record) }
      throw error
    }
  }

  /// Records whether the operation may send a request again, however it has ended for its caller.
  static func recordEnd(_ repeatability: @autoclosure () -> Repeatability) {
    guard let recorder else { return }
    let repeatability = repeatability()
    recorder.withLock { $0.add(repeatability) }
  }

  /// Records the requests of work whose result this task has received, and may throw, as if they were its own.
  static func record(_ shared: FailureRecord) { recorder?.withLock { $0.merge(shared) } }

  /// The record in which ``detailed(_:)`` of this task finds the failures.
  @TaskLocal private static var recorder: Locked<FailureRecord>?

  /// The description of the error, and if they are known the request, the status, the beginning of the body, and why the
  /// exchange failed, or where its response could not be decoded: `"The server failed. (POST https://example.com/graphql,
  /// status 500; text/html, 34 bytes: <html>…)"`. Of the query only the names are shown. The body of a success is not.
  public var errorDescription: String? { description }
  /// The same as ``errorDescription``.
  public var description: String { redacted }
  var redacted: String { [error.description, exchange, cause].compactMap(\.self).joined(separator: " ") }
  private var exchange: String? {
    guard url != nil || statusCode != nil else { return nil }
    let exchange = FailedExchange(
      method: method, url: url, status: statusCode, contentType: headers.field("Content-Type"), data: data,
      quotesBody: statusCode.map { !StatusCodes.successful.contains($0) } ?? false)
    return "(\(statusCode == nil ? exchange.request : exchange.text))"
  }
  /// What the exchange does not say. Not the text of an error that is not known, which may contain anything.
  private var cause: String? {
    let text: String? =
      switch underlyingError {
      case let error as DecodingError: error.reason
      case let error as URLError: error.localizedDescription
      case let error as InvalidHeaderError: error.errorDescription
      case is HTTPError, is NetworkError: nil
      case let error as any ClassifiedError & LocalizedError: error.errorDescription
      default: nil
      }
    // The peer may have sent a part of it, such as the reason for closing a WebSocket.
    return text.map { FailedExchange.inOneLine($0) }
  }
  /// The reason for the error.
  public var failureReason: String? { error.failureReason }
  /// A suggestion for recovery.
  public var recoverySuggestion: String? { error.recoverySuggestion }

  /// Creates the failure of an exchange that received no response, or whose response could not be used.
  ///
  /// It has labels of its own: a call without them would choose between this initialiser and the public one by the static
  /// type of the error alone.
  init(causedBy error: any Error, url: URL?) {
    switch error {
    case let failure as PrismNetworkFailure: self = failure
    case let error as PrismNetworkError: self.init(error, because: nil, url: url)
    case let error as HTTPError:
      self.init(
        PrismNetworkError(status: error.statusCode), because: error, url: url ?? error.url,
        statusCode: error.statusCode, headers: error.headers, data: error.data)
      method = error.method
    case let error as DecodingError:
      let response = error.response
      self.init(
        .invalidResponse, because: error, url: url ?? response?.url, statusCode: response?.statusCode,
        headers: response?.headerFields.dictionary ?? [:], data: response?.data ?? Data())
      method = error.requestMethod
    case is InvalidHeaderError: self.init(.badRequest, because: error, url: url)
    case NetworkError.invalidURL: self.init(.invalidURL, because: error, url: url)
    case NetworkError.unauthorized: self.init(.unauthorized, because: error, url: url, statusCode: 401)
    default:
      self.init(error.urlErrorCode.map(PrismNetworkError.init(code:)) ?? .invalidResponse, because: error, url: url)
    }
  }

  /// The error that the library throws for this failure, whose cause is recorded for ``detailed(_:)``.
  var surfaced: any Error {
    let thrown: any Error = error
    Self.recorder?.withLock { $0.add(self, thrownAs: thrown) }
    return thrown
  }

  /// Runs `body`, and throws its failures as errors.
  static func surfacing<Success>(_ body: () throws -> Success) throws -> Success {
    do { return try body() } catch let failure as PrismNetworkFailure { throw failure.surfaced }
  }

  /// Runs `body`, and throws its failures as errors.
  static func surfacing<Success: Sendable>(_ body: () async throws -> Success) async throws -> Success {
    do { return try await body() } catch let failure as PrismNetworkFailure { throw failure.surfaced }
  }
}

extension PrismNetworkFailure.Recorded: Sendable where Success: Sendable {}

/// The failures of an operation's requests, of which the operation throws only the errors.
struct FailureRecord: Sendable {
  private struct Entry: Sendable {
    let failure: PrismNetworkFailure
    /// The error that the library has thrown for it.
    let error: any Error
  }

  /// The maximum number of failures whose details are kept.
  private static let maximumCount = 32

  private var entries: [Entry] = []
  private var counts: [PrismNetworkError: Int] = [:]
  /// Whether the end of a request is known.
  private(set) var hasEnds = false
  /// Whether every request can safely be sent again, and with them the operation.
  private(set) var isHarmlessToRepeat = true
  /// Whether a request must not be sent again, whatever a policy says.
  private(set) var forbidsRepetition = false

  mutating func add(_ failure: PrismNetworkFailure, thrownAs error: any Error) {
    append(Entry(failure: failure, error: error))
    counts[failure.error, default: 0] += 1
    if let repeatability = failure.repeatability { add(repeatability) }
  }

  private mutating func append(_ entry: Entry) {
    if entries.count == Self.maximumCount { entries.removeFirst() }
    entries.append(entry)
  }

  mutating func add(_ repeatability: Repeatability) {
    hasEnds = true
    if !repeatability.isHarmless { isHarmlessToRepeat = false }
    if repeatability.wasCompleted { forbidsRepetition = true }
  }

  /// Adds the requests of a part of the operation, which count even if the part has handled their failures.
  mutating func add(_ part: FailureRecord) {
    if part.hasEnds { hasEnds = true }
    if !part.isHarmlessToRepeat { isHarmlessToRepeat = false }
    if part.forbidsRepetition { forbidsRepetition = true }
  }

  /// Adds the requests of work that the operation has shared with others, with the details of their failures.
  mutating func merge(_ shared: FailureRecord) {
    add(shared)
    for entry in shared.entries { append(entry) }
    counts.merge(shared.counts, uniquingKeysWith: +)
  }

  /// Returns the details of an error that the operation has thrown; `nil` if it is not that of a recorded failure, or
  /// might be that of several.
  func details(of error: any Error) -> PrismNetworkFailure? {
    guard let meaning = error as? PrismNetworkError else { return nil }
    if let own = entries.last(where: { Self.isSame($0.error, error) }) { return own.failure }
    // An error that was caught and thrown again is another one, with the same value.
    guard counts[meaning] == 1 else { return nil }
    return entries.last { $0.failure.error == meaning }?.failure
  }

  /// A thrown error as the reference that it is. A structure, because a function that is generic over it would look into
  /// the object instead.
  private struct Reference {
    let error: any Error
    var address: UInt { unsafeBitCast(self, to: UInt.self) }
  }

  /// Whether two errors are the same object. An `any Error` is a reference to an object that the first `throw` makes,
  /// and that is passed on unchanged; the entries keep theirs alive, so that no other one has its address.
  private static func isSame(_ one: any Error, _ other: any Error) -> Bool {
    Reference(error: one).address == Reference(error: other).address
  }
}
