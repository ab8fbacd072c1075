import Foundation

/// A subscription to server-sent events that reconnects, like a browser's `EventSource`.
///
/// Created by ``NetworkManager/events(_:accessToken:reconnect:)``. It connects when it is iterated, and reconnects
/// whenever the connection is lost, with `Last-Event-ID` if the server has sent an ID. A stream that the server has ended
/// is requested again only if the request is idempotent (``NetworkRequest/isIdempotent``). Leaving the loop, or cancelling
/// its task, ends it. The request and the token closure are used on the actor of the iterating task.
public struct EventSource<Request: NetworkRequest>: AsyncSequence {
  /// The type of the elements.
  public typealias Element = ServerSentEvent

  let request: Request
  let clock: any Clock<Duration>
  let policy: EventReconnectPolicy
  let options: EventSourceOptions
  let defaults: () -> ClientDefaults?
  let stream: nonisolated(nonsending) (EventStreamRequest<Request>) async throws -> StreamingResponse
  private let signal = ReconnectSignal()

  /// Call it to reconnect now: it ends the wait before the next attempt, or closes the open stream and requests it again,
  /// resuming after the last event. For an app that returns to the foreground, or a network that has changed.
  ///
  /// It may be kept, and called by any task; it applies to every loop over this value and its copies. Events that have
  /// arrived completely are delivered first, and the call does not count as a failure. An attempt that is under way
  /// continues; if it fails, the next one follows without a wait. The request is repeated even if it is not idempotent,
  /// but not if its body can be sent only once: that ends the subscription with `URLError.networkConnectionLost`.
  public var reconnect: @Sendable () -> Void { { [signal] in signal.send() } }

  /// Returns an iterator with its own subscription.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  private struct OpenStream {
    let reader: StreamReader<EventStreamParser>
    let body: WatchedBody
    /// Ends the body when the subscription's owner wants to reconnect.
    let interruption: ReconnectSignal.Wait
  }

  /// An iterator over the events of one subscription.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let source: EventSource
    private var state: EventSourceState
    private var open: OpenStream?
    private var isOver = false
    private var ownTimeout: Duration?
    /// The number of signals before the attempt, or before its stream was open, which the next wait is not about.
    private var heard = 0
    /// The body of the last error response, for the request's own error decoder.
    private let refusal = Locked<NetworkResponse?>(nil)
    private let sequence = Locked<SequenceBody?>(nil)
    private let wasCarriedOut = Locked(false)

    init(_ source: EventSource) {
      self.source = source
      state = EventSourceState(policy: source.policy, lastEventID: source.options.lastEventID)
    }

    /// Returns the next event; `nil` when the server has ended the subscription with 204, or has ended the stream of a
    /// request that is not idempotent.
    ///
    /// Throws ``EventStreamError``, ``StreamLineTooLongError``, the errors of `stream` that are not transient, and
    /// `CancellationError`.
    public mutating func next() async throws -> ServerSentEvent? { try await next(isolation: nil) }

    /// Returns the next event, on the caller's actor. Loops in Swift 6 call this method.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> ServerSentEvent? {
      guard !isOver else { return nil }
      do {
        while true {
          try Task.checkCancellation()
          guard let reader = open?.reader else {
            guard try await connect(isolation: actor) else { break }
            continue
          }
          let error: (any Error)?
          do {
            if let event = try await reader.next() { return event }
            error = nil
          } catch let failure {
            error = failure
          }
          guard try await follow(ended(because: error), isolation: actor) else { break }
        }
        isOver = true
        return nil
      } catch {
        isOver = true
        open = nil
        throw error
      }
    }

    /// Connects; returns `false` if the subscription is over.
    private mutating func connect(isolation actor: isolated (any Actor)?) async throws -> Bool {
      let response: StreamingResponse
      do {
        response = try await source.stream(request())
      } catch {
        return try await follow(lost(because: error, parser: nil), isolation: actor)
      }
      return try opened(response)
    }

    // Not inlined, here and below, into the frames that are kept while the next event is waited for: see ``RequestRunner``.
    @inline(never)
    private mutating func request() -> EventStreamRequest<Request> {
      heard = source.signal.count
      refusal.withLock { $0 = nil }
      wasCarriedOut.withLock { $0 = false }
      state.isIdempotent = source.request.isIdempotent
      ownTimeout = source.options.idleTimeout ?? source.defaults().reading { source.request.timeout }
      // Once the stream is open, its silence is measured here; until then, and if that fails, the transport does.
      return EventStreamRequest(
        base: source.request, lastEventID: state.lastEventID, silence: ownTimeout ?? HeartbeatState.quiet,
        maximumResponseSize: source.request.maximumResponseSize, refusal: refusal, sequence: sequence,
        wasCarriedOut: wasCarriedOut)
    }

    /// Begins to read a response; returns `false` if it ends the subscription.
    @inline(never)
    private mutating func opened(_ response: StreamingResponse) throws -> Bool {
      guard response.statusCode != 204 else { return false }
      guard response.statusCode == 200 else { throw EventStreamError.unexpectedStatus(response.statusCode) }
      if let error = EventStreamError(contentType: response.headers.field("Content-Type")) { throw error }
      state.opened()
      let body = WatchedBody(
        response.source.body, heartbeat: HeartbeatState(fixed: ownTimeout), clock: source.options.clock)
      let parser = EventStreamParser(
        maximumSize: StreamingResponse.defaultMaximumLength, lastEventID: state.lastEventID,
        onComment: { [weak body] in body?.receivedComment() })
      open = OpenStream(
        reader: StreamReader(ReadOnceBody(body), parser: parser), body: body,
        interruption: source.signal.onSend { [weak body] in body?.interrupt() })
      heard = source.signal.count
      source.options.onOpen?(response.headers)
      return true
    }

    /// Whether the next connection can send the whole body.
    private var bodyIsReplayable: Bool {
      if let sequence = sequence.withLock({ $0 }) { return !sequence.isUsedUp }
      return source.request.body?.isReplayable ?? true
    }

    /// Returns the error that the request's own error decoder creates from an error response.
    private func decoded(_ error: any Error) -> any Error {
      guard let refusal = refusal.withLock({ $0 }) else { return error }
      guard error is HTTPError || error as? NetworkError == .unauthorized else { return error }
      let request = source.request
      return source.defaults().reading { request.responseErrorDecoder?(refusal) ?? request.errorDecoder?(refusal.data) }
        ?? error
    }

    /// Returns what to do when the open stream has ended.
    @inline(never)
    private mutating func ended(because error: (any Error)?) throws -> EventSourceState.Action {
      guard let ended = open else { return .finish }
      open = nil
      guard ended.body.isInterrupted else { return try lost(because: error, parser: ended.reader.parser) }
      try Task.checkCancellation()
      guard bodyIsReplayable else { throw URLError(.networkConnectionLost) }
      state.interrupted(parser: ended.reader.parser)
      return .reconnectNow
    }

    /// Returns what to do when a connection has ended, or could not be opened.
    @inline(never)
    private mutating func lost(
      because error: (any Error)?, parser: EventStreamParser?
    ) throws -> EventSourceState.Action {
      try Task.checkCancellation()
      if let error = error as? TokenError { throw error.cause }
      return state.lost(
        because: error, parser: parser, retryAfter: error.flatMap { RetryAfter.delay(in: $0, now: Date()) },
        wasCarriedOut: wasCarriedOut.withLock { $0 }, bodyIsReplayable: bodyIsReplayable, random: .random(in: 0...1))
    }

    /// Waits for the next attempt; returns `false` if there is none.
    private func follow(
      _ action: EventSourceState.Action, isolation actor: isolated (any Actor)?
    ) async throws -> Bool {
      switch action {
      case .fail(let error): throw decoded(error)
      case .finish: return false
      case .reconnect(let delay): try await source.signal.sleep(for: delay, since: heard, clock: source.clock)
      case .reconnectNow: break
      }
      return true
    }
  }
}

/// Ends what the loops over a subscription wait for, when its owner wants them to reconnect.
final class ReconnectSignal: Sendable {
  /// A wait that the signal ends, until it is released.
  final class Wait: Sendable {
    private let signal: ReconnectSignal
    private let number: Int

    fileprivate init(_ signal: ReconnectSignal, _ number: Int) {
      self.signal = signal
      self.number = number
    }

    deinit { _ = signal.waits.withLock { $0.ends.removeValue(forKey: number) } }
  }

  private let waits = Locked<(count: Int, ends: [Int: @Sendable () -> Void], sent: Int)>((0, [:], 0))

  /// The number of signals so far.
  var count: Int { waits.withLock { $0.sent } }

  func send() {
    let ends = waits.withLock { waits in
      waits.sent += 1
      return Array(waits.ends.values)
    }
    for end in ends { end() }
  }

  /// Calls a closure with each signal, while the returned wait exists.
  func onSend(_ end: @escaping @Sendable () -> Void) -> Wait {
    let number = waits.withLock { waits in
      waits.count += 1
      waits.ends[waits.count] = end
      return waits.count
    }
    return Wait(self, number)
  }

  /// Sleeps until there are more signals than a number, at the longest for a time.
  func sleep(for duration: Duration, since heard: Int, clock: any Clock<Duration>) async throws {
    let sleep = Task { try await clock.sleep(for: duration.sleepable) }
    let wait = onSend { sleep.cancel() }
    if count != heard { sleep.cancel() }
    await withTaskCancellationHandler {
      _ = try? await sleep.value
    } onCancel: {
      sleep.cancel()
    }
    withExtendedLifetime(wait) {}
    try Task.checkCancellation()
  }
}

/// Options of a subscription to server-sent events.
public struct EventSourceOptions: Sendable {
  /// The event ID to resume after, from an earlier subscription: the first request sends it as `Last-Event-ID`.
  /// Defaults to none. An ID that is not a valid header field value throws ``InvalidHeaderError``.
  public var lastEventID: String
  /// The maximum silence of the server, before its response and during the stream, after which the connection counts as
  /// lost; at least a millisecond.
  ///
  /// Defaults to `nil`: the request's own ``NetworkRequest/timeout``; without one, five minutes, or three times the
  /// longest pause, at least 30 seconds, if the server sends comments as heartbeats.
  public var idleTimeout: Duration?
  /// Called each time a stream has opened, with the header fields of the response, before its first event. The loop
  /// waits until it returns.
  public var onOpen: (@Sendable (_ headers: [String: String]) -> Void)?
  /// The clock that measures the silence.
  var clock: any Clock<Duration> = ContinuousClock()

  /// Creates options in which parameters that are left out keep their defaults.
  public init(
    lastEventID: String = "", idleTimeout: Duration? = nil,
    onOpen: (@Sendable (_ headers: [String: String]) -> Void)? = nil
  ) {
    self.lastEventID = lastEventID
    self.idleTimeout = idleTimeout
    self.onOpen = onOpen
  }
}

/// A policy for how a subscription to server-sent events reconnects.
public struct EventReconnectPolicy: Sendable, Equatable {
  /// The delay before reconnecting, at least 100 milliseconds, unless the server has set one with `retry`.
  public var initialDelay: Duration
  /// The limit up to which the delay doubles, and for a server's `Retry-After`. A longer ``initialDelay``, or a longer
  /// `retry` of the server, is not shortened.
  public var maximumDelay: Duration
  /// The maximum number of consecutive failed attempts; the error of the next one is thrown. A negative number counts
  /// as zero; `nil` for no limit. An attempt that opens a stream has not failed, whether or not an event arrives.
  public var maximumFailures: Int?

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - initialDelay: Defaults to 3 seconds. It doubles with each failed attempt and is reduced at random by up to a
  ///     half. The server's `retry` replaces it, at least half a second; the first delay is then exactly that.
  ///   - maximumDelay: Defaults to a minute.
  ///   - maximumFailures: Defaults to `nil`, as in a browser: an unreachable server is retried forever.
  public init(
    initialDelay: Duration = .seconds(3), maximumDelay: Duration = .seconds(60), maximumFailures: Int? = nil
  ) {
    self.initialDelay = initialDelay
    self.maximumDelay = maximumDelay
    self.maximumFailures = maximumFailures
  }
}

/// An error of a response that is no stream of server-sent events (WHATWG HTML §9.2.3, "fail the connection").
public enum EventStreamError: LocalizedError, ClassifiedError, Equatable, Sendable {
  /// The response is successful, but is not an event stream.
  case unexpectedContentType(String?)
  /// The response has a 2xx status other than 200, which starts a stream, and 204, which ends the subscription.
  case unexpectedStatus(Int)

  /// Creates the error of a successful response with that `Content-Type`; `nil` if it is an event stream.
  init?(contentType: String?) {
    guard contentType?.mediaType != "text/event-stream" else { return nil }
    self = .unexpectedContentType(contentType)
  }

  var failureKind: FailureKind { .completed }

  /// A description of the error.
  public var errorDescription: String? {
    switch self {
    case .unexpectedContentType(let type):
      "Expected text/event-stream, received \(type.map { FailedExchange.inOneLine($0.prefix(80)) } ?? "no Content-Type")"
    case .unexpectedStatus(let status): "An event stream cannot have the status code \(status)"
    }
  }
}

/// A request with the header fields that a subscription adds: the media type, and the ID to resume after.
struct EventStreamRequest<Base: NetworkRequest>: NetworkRequest {
  typealias Response = EmptyResponse

  let base: Base
  let lastEventID: String?
  /// The idle timeout of the exchange; `nil` for that of the request.
  let silence: Duration?
  /// That of the request itself: a default is the size of a response that ends, which a subscription exceeds in time.
  let maximumResponseSize: Int64?
  let refusal: Locked<NetworkResponse?>
  let sequence: Locked<SequenceBody?>
  /// Set when a redirect changes the method, because the request was carried out.
  let wasCarriedOut: Locked<Bool>

  var path: String { base.path }
  var method: HTTPMethod { base.method }
  var methodName: String { base.methodName }
  var queryParameters: [String: String]? { base.queryParameters }
  var orderedQuery: [URLQueryItem]? { base.orderedQuery }
  var targetURL: URL? { base.targetURL }
  var credential: PasswordCredential? { base.credential }
  var contentType: String { base.contentType }
  var body: RequestBody? {
    let body = base.body
    // One that has begun is kept: `body` may return another one over the same, used-up sequence.
    if let next = body?.sequence, sequence.withLock({ $0 })?.isUsedUp != true { sequence.replace(\.self, with: next) }
    return body
  }
  var multipartData: MultipartFormData? { base.multipartData }
  // A subscription has rules of its own, which defaults of the client do not replace: for errors, statuses and its whole time.
  let errorDecoder: ((Data) -> Error?)? = nil
  let acceptedStatuses = StatusCodes.successful
  let totalTimeout: Duration? = nil
  /// Stores the response and returns no error: the subscription needs the status and `Retry-After`, and calls the request's
  /// own decoders when it ends.
  var responseErrorDecoder: ((NetworkResponse) -> Error?)? {
    guard base.errorDecoder != nil || base.responseErrorDecoder != nil else { return nil }
    return { [refusal] response in
      refusal.withLock { $0 = response }
      return nil
    }
  }
  var onInterimResponse: (@Sendable (InterimResponse) -> Void)? { base.onInterimResponse }
  var allowsRetry: Bool { base.allowsRetry }
  var jsonEncoder: JSONEncoder { base.jsonEncoder }
  var pathIsPercentEncoded: Bool { base.pathIsPercentEncoded }
  var timeout: Duration? { silence ?? base.timeout }
  var redirectPolicy: RedirectPolicy { base.redirectPolicy }
  var expectsContinue: Bool { base.expectsContinue }
  var isIdempotent: Bool { base.isIdempotent }
  var cacheMode: CacheMode { base.cacheMode }
  var decodesContent: Bool { base.decodesContent }
  var maximumInflation: Int? { base.maximumInflation }

  /// WHATWG HTML §9.2.3. The request's own fields take precedence; its ID only until there is another, or it is reset.
  var headerFields: HeaderFieldList? {
    var fields = HeaderFieldList(fields: HeaderFields.joined(base.headers, base.headerFields))
    if !fields.contains("accept") { fields.append("Accept", "text/event-stream") }
    // RFC 9111 §5.2.1: `no-store` does not keep a cache on the way from repeating a stream that it has stored already.
    if !fields.contains("cache-control") { fields.append("Cache-Control", "no-cache, no-store") }
    guard let lastEventID else { return fields }
    fields.remove("last-event-id")
    if !lastEventID.isEmpty { fields.append("Last-Event-ID", lastEventID) }
    return fields
  }
}
