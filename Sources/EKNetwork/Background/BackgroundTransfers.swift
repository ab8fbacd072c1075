import Foundation

/// Downloads and uploads that the system carries out in a process of its own: they continue while the app is suspended, and
/// after the system has terminated it. For Apple's platforms; on Linux every start throws a ``TransportOptionError``.
///
/// Create it early in each run of the app, with the same identifier: the transfers of earlier runs are found again, and their
/// events arrive. Values with one identifier share one session, which has the options of the first, and lives as long as the process.
///
/// ```swift
/// let transfers = BackgroundTransfers(identifier: "com.example.films", manager: manager)
/// try await transfers.download(GetFilm(), to: film, id: "film-42")
/// for await event in transfers.events {
///   if case .finished(let transfer, _) = event { print(transfer.id) }
/// }
/// ```
///
/// The manager builds a request once, with the header fields and the cookies that its session has at that time. Nothing of the
/// app takes part in it afterwards: no middleware, no retry policy, no token refresh after a 401, no cache, no progress observer
/// and no decoder, and the cookies of the responses are not stored. The system repeats a transfer whose connection was lost,
/// also a POST, and follows redirects without asking, to other origins too, where the header fields, such as `Authorization`
/// and `Cookie`, may be sent as well: send credentials only to servers whose redirects you trust.
///
/// What a background session cannot do is a ``TransportOptionError`` before anything is sent: `TLSOptions` of the manager, a
/// delegate of its session that receives challenges, or a `connectionProxyDictionary`; and of a request the `credential`, `onInterimResponse`, `totalTimeout`,
/// `maximumResponseSize`, a `redirectPolicy` that does not follow, a body that is a stream or a sequence, and that of a download.
public final class BackgroundTransfers: Sendable {
  private let manager: NetworkManager
  private let center: BackgroundCenter

  /// Creates the transfers of an identifier.
  ///
  /// - Parameters:
  ///   - identifier: The identifier of the session: unique in the app, and the same in each run of it.
  ///   - manager: The manager that builds the requests.
  ///   - options: The options of the session.
  public convenience init(
    identifier: String, manager: NetworkManager, options: BackgroundTransferOptions = BackgroundTransferOptions()
  ) {
    self.init(manager: manager, center: .shared(identifier, options))
  }

  init(manager: NetworkManager, center: BackgroundCenter) {
    self.manager = manager
    self.center = center
  }

  /// What happens to the transfers, those of earlier runs included. Events wait until they are read; of the progress of a
  /// transfer only the latest does. Each is delivered once, so read them in one place. Events that were not read when the process
  /// ends are lost, but a downloaded file is at its destination. The sequence ends when the task that reads it is cancelled.
  public var events: AsyncStream<BackgroundTransferEvent> { AsyncStream { [center] in await center.nextEvent() } }

  /// The transfers in progress, those of earlier runs included.
  public var transfers: [BackgroundTransfer] { get async { await center.transfers() } }

  /// Starts a download, and returns when the system has it.
  ///
  /// The file appears at the destination when it is complete; a status outside 2xx is an error in the event, and no file. If a
  /// transfer with this id is in progress, nothing is sent, and that one is returned: the same call in each run of the app
  /// downloads once.
  ///
  /// - Parameters:
  ///   - request: The request. It is read once, on the caller's actor.
  ///   - destination: The file URL of the file, in a folder that exists. The home directory and the container of the app group,
  ///     which may have moved in a later run, are found again.
  ///   - id: The name by which the events and later runs know the transfer.
  ///   - replacesFile: Whether a file at the destination is replaced. Defaults to `false`: ``DownloadError/fileExists(_:)``, here
  ///     or in the event.
  ///   - resumeData: What an earlier download that has failed has left, which is then continued, with the request of that one.
  ///     Defaults to `nil`.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called once. Defaults to `nil`.
  /// - Throws: ``TransportOptionError``, ``DownloadError``, the errors of building the request, and `URLError` if the session
  ///   cannot be used.
  @discardableResult
  public nonisolated(nonsending) func download<T: NetworkRequest>(
    _ request: T, to destination: URL, id: String, replacesFile: Bool = false, resumeData: Data? = nil,
    accessToken: (() -> String?)? = nil
  ) async throws -> BackgroundTransfer {
    let record = BackgroundRecord(id: id, destination: destination, replacesFile: replacesFile, in: center.places)
    return try await center.start(record, resumeData: resumeData) {
      try BackgroundRules.check(destination, replacesFile: replacesFile)
      guard request.body == nil, request.multipartData == nil else {
        throw BackgroundRules.refusal("the body of a download")
      }
      return (try build(request, accessToken, accept: RequestBuilder.anything), nil)
    }
  }

  /// Starts an upload, and returns when the system has it.
  ///
  /// - Parameters:
  ///   - request: The request. It is read once, on the caller's actor. Its `acceptedStatuses` decide about the event.
  ///   - file: The file URL of the body, which must not change before the upload has ended. Defaults to `nil`: the request's own
  ///     body, which is written to a file of the library's first, unless it is a file.
  ///   - id: As for ``download(_:to:id:replacesFile:resumeData:accessToken:)``.
  ///   - accessToken: Returns the token for `Authorization: Bearer …`; called once. Defaults to `nil`.
  /// - Throws: ``TransportOptionError``, ``RequestBodyError`` if the file cannot be read, ``NetworkError/conflictingBodyTypes``
  ///   if there are two bodies, the errors of building the request, and `URLError` for a GET, or if the session cannot be used.
  @discardableResult
  public nonisolated(nonsending) func upload<T: NetworkRequest>(
    _ request: T, fromFile file: URL? = nil, id: String, accessToken: (() -> String?)? = nil
  ) async throws -> BackgroundTransfer {
    let accepted = manager.clientDefaults.reading { request.acceptedStatuses }
    let record = BackgroundRecord(id: id, accepted: accepted, in: center.places)
    return try await center.start(record) {
      let urlRequest = try build(request, accessToken, accept: RequestBuilder.json)
      guard let file else { return (urlRequest, try BackgroundRules.segments(of: urlRequest)) }
      guard request.body == nil, request.multipartData == nil else { throw NetworkError.conflictingBodyTypes }
      return (urlRequest, [.file(try FileSegment(file))])
    }
  }

  /// Cancels the transfer with this id, if it is in progress, and returns when it has ended: another one can then be started
  /// with the id. Its event is a failure with `URLError.cancelled`, unless it has just finished; an upload whose body is still
  /// being written to a file has no event, and throws that error.
  public func cancel(id: String) async { await center.cancel { $0 == id } }

  /// Cancels all transfers, as ``cancel(id:)`` does.
  public func cancelAll() async { await center.cancel { _ in true } }

  /// Takes the completion handler of `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. It is called on the
  /// main actor, once the session has delivered all its events and all downloaded files are at their destinations.
  @MainActor public func handleEvents(completionHandler: @escaping () -> Void) {
    center.handleEvents(WakeUpHandler(call: completionHandler))
  }

  private func build<T: NetworkRequest>(
    _ request: T, _ accessToken: (() -> String?)?, accept: String
  ) throws -> URLRequest {
    let runner = manager.runner(over: manager.transport)
    try runner.defaults.reading { try BackgroundRules.check(request, of: manager) }
    let settings = manager.transport.sessionSettings
    let baseURL = manager.baseURL()
    let own = try runner.source(request, { baseURL }, accessToken, accept: accept).build()
    let leavesOrigin = RequestBuilder.leavesOrigin(request.targetURL, baseURL: baseURL)
    let hop = try HopRequest(own, session: settings, hasLeftOrigin: leavesOrigin)
    var sent = hop.sent
    // The background session has no cookies of its own: those of the process may be another user's.
    if let cookie = hop.sentFields.first("cookie") { sent.set("Cookie", cookie) }
    try sent.checkIsSendable()
    // They are in `Authorization` already. The session would show them in its errors.
    sent.url = sent.url.withoutCredentials
    // The session adds that of the file.
    sent.remove("content-length")
    return sent.urlRequest
  }
}

/// The options of a background session.
public struct BackgroundTransferOptions: Equatable, Sendable {
  /// The app group whose container an app extension shares with its app. Defaults to `nil`; an app extension needs one.
  public var appGroup: String?
  /// Whether the system chooses the time, and may wait for power and Wi-Fi, as it always does with transfers that are started
  /// in the background. Defaults to `false`.
  public var isDiscretionary: Bool
  /// Whether the system resumes or launches the app when its transfers have ended. Defaults to `true`.
  public var sendsLaunchEvents: Bool
  /// Whether transfers may use a cellular network. Defaults to `true`.
  public var allowsCellularAccess: Bool

  /// Creates options; parameters that are left out have their defaults.
  public init(
    appGroup: String? = nil, isDiscretionary: Bool = false, sendsLaunchEvents: Bool = true,
    allowsCellularAccess: Bool = true
  ) {
    self.appGroup = appGroup
    self.isDiscretionary = isDiscretionary
    self.sendsLaunchEvents = sendsLaunchEvents
    self.allowsCellularAccess = allowsCellularAccess
  }
}

/// A transfer in the background.
public struct BackgroundTransfer: Identifiable, Equatable, Sendable {
  /// The caller's name for it.
  public let id: String
  /// Where a download will be; `nil` for an upload.
  public let destination: URL?
  /// The number of bytes of the body that were transferred.
  public let completedBytes: Int64
  /// The number of bytes of the whole body; `nil` if it is not known.
  public let totalBytes: Int64?

  /// Creates a transfer as the library returns it, for tests.
  public init(id: String, destination: URL? = nil, completedBytes: Int64 = 0, totalBytes: Int64? = nil) {
    self.id = id
    self.destination = destination
    self.completedBytes = completedBytes
    self.totalBytes = totalBytes
  }
}

/// What happens to a transfer.
public enum BackgroundTransferEvent: Sendable {
  /// Bytes were transferred. While the app is suspended there are no such events.
  case progress(BackgroundTransfer)
  /// A download is at its destination, or an upload was accepted. The body of the response is that of an upload, and empty if it is
  /// longer than 1 MiB.
  case finished(BackgroundTransfer, NetworkResponse)
  /// The transfer has failed: with ``HTTPError`` for its status, also for 401, ``DownloadError`` if the file cannot be moved to
  /// its destination or is only a part (RFC 9110 §14.4), ``NetworkError/invalidResponse``, or `URLError`, whose
  /// `backgroundTaskCancelledReason` says if the user has quit the app, which cancels all transfers. Resume data, which contain
  /// the request with its header fields, are for
  /// ``BackgroundTransfers/download(_:to:id:replacesFile:resumeData:accessToken:)``.
  case failed(BackgroundTransfer, any Error, resumeData: Data?)

  /// The transfer that the event is about.
  public var transfer: BackgroundTransfer {
    switch self {
    case .progress(let transfer), .finished(let transfer, _), .failed(let transfer, _, _): transfer
    }
  }
}
