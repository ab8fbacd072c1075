import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Middleware that records exchanges for a HAR 1.2 file, which browsers, proxies and other tools read, and from which a
/// ``ReplaySession`` responds.
///
/// ```swift
/// let recorder = HARRecorder()
/// manager.attemptMiddleware.append(recorder)
/// // …
/// try recorder.write(to: file)
/// ```
///
/// In ``NetworkManager/attemptMiddleware``, or that of an adapter, each attempt and each redirect is an entry with its
/// own timings; as the last middleware, it records requests as they are sent. In ``NetworkManager/middleware`` a whole
/// call is one entry. Several managers may share one recorder. It reads no body itself: an entry is complete, and
/// recorded, when its body has been read, has failed or has been released. Streamed request bodies are not recorded.
///
/// Its memory use is limited, so that it may stay in use: see ``HAROptions``. Beyond the limits, the oldest entries are
/// dropped; bodies that are being read are not counted yet.
public final class HARRecorder: NetworkMiddleware {
  private let options: HAROptions
  private let redaction: HARRedaction
  private let backlog: Locked<HARExchangeList>

  /// Creates a recorder without entries.
  ///
  /// - Parameter options: What to record, and how much. Defaults to no secrets, 1 MiB of a body, 1,000 entries and 64
  ///   MiB.
  public convenience init(options: HAROptions = HAROptions()) { self.init(options: options, salt: UUID().uuidString) }

  init(options: HAROptions, salt: String) {
    self.options = options
    redaction = HARRedaction(salt: salt, hidesSecrets: !options.revealsSecrets)
    backlog = Locked(HARExchangeList(options))
  }

  /// Passes the request on, and records it with its response.
  ///
  /// - Throws: The error of `next`, which is recorded as well.
  public func intercept(
    _ request: URLRequest, context: NetworkMiddlewareContext, next: NetworkMiddlewareNext
  ) async throws -> NetworkMiddlewareResponse {
    let (options, redaction, backlog) = (options, redaction, backlog)
    let recorded = HARRequest(request, redaction: redaction, limit: max(0, options.maximumBodySize))
    let number = backlog.withLock { $0.nextNumber() }
    let (date, start) = (Date(), ContinuousClock.now)
    let response: NetworkMiddlewareResponse
    do {
      response = try await next(request)
    } catch {
      let elapsed = start.duration(to: .now)
      let exchange = HARExchange(
        number: number, started: date, request: recorded, error: error.redactedForLog,
        timings: HARTimings(head: elapsed, total: elapsed, network: nil))
      backlog.withLock { $0.append(exchange) }
      throw error
    }
    let head = start.duration(to: .now)
    let fields = response.headerFields.map {
      (name: $0.name, value: redaction.field($0.name, $0.value, of: request.url))
    }
    let kept = HARExchange.Response(
      status: response.statusCode, reason: response.reasonPhrase, fields: HeaderFieldList(fields))
    return response.watchingBody { body in
      RecordingBody(body, limit: max(0, options.maximumBodySize)) { content, error, network in
        var response = kept
        response.content = content
        let exchange = HARExchange(
          number: number, started: date, request: recorded, response: response, error: error?.redactedForLog,
          timings: HARTimings(head: head, total: start.duration(to: .now), network: network),
          protocolName: network?.protocolName, remoteAddress: network?.remoteAddress)
        backlog.withLock { $0.append(exchange) }
      }
    }
  }

  // MARK: - Entries

  /// The number of recorded entries. An exchange that is under way does not count yet.
  public var entryCount: Int { backlog.withLock { $0.exchanges.count } }

  /// The number of entries that were dropped because of the limits.
  public var droppedEntryCount: Int { backlog.withLock { $0.dropped } }

  /// Removes all entries. An exchange that is under way is recorded when it ends.
  public func removeAll() {
    backlog.withLock { $0.removeAll() }
  }

  // MARK: - The file

  /// Returns the entries as a HAR 1.2 file, in JSON, in the order in which their requests were sent.
  ///
  /// It can be called at any time; recording continues. It takes about twice as much memory as the entries.
  ///
  /// - Throws: `EncodingError` if an entry cannot be encoded.
  public func data() throws -> Data {
    let (exchanges, dropped) = backlog.withLock { ($0.exchanges, $0.dropped) }
    return try HARDocument.data(
      exchanges.sorted { $0.number < $1.number }, redaction: redaction, dropped: dropped)
  }

  /// Writes the result of ``data()`` to a file atomically, replacing an existing one.
  ///
  /// With ``HAROptions/revealsSecrets``, only its owner can read it.
  ///
  /// - Parameter url: A file URL.
  /// - Throws: `URLError.unsupportedURL` for any other URL; the error of the file system, or that of ``data()``.
  public func write(to url: URL) throws {
    guard url.isFileURL else {
      throw URLError(.unsupportedURL, url: url, description: "A HAR file can only be written to a file URL.")
    }
    let data = try data()
    guard !redaction.hidesSecrets else { return try data.write(to: url, options: .atomic) }
    let partial = url.appendingPathExtension(UUID().uuidString)
    guard let file = OpenFile(partial.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC), file.append(data),
      rename(partial.path, url.path) == 0
    else {
      let code = errno
      unlink(partial.path)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
  }
}

extension HARRecorder: TimedMiddleware {}
