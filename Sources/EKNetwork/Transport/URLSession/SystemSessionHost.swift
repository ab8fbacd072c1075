import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The part of an Apple `URLSession` that ``SystemSessionHost`` uses.
protocol SystemSession: AnyObject, Sendable {
  /// Whether the session belongs to the system's background daemon, which only accepts files.
  var isBackground: Bool { get }
  /// Returns a task that has yet to be resumed, or `nil` if the session was invalidated.
  func makeTask(_ request: URLRequest, for task: SessionTask, caching: SessionCaching) -> (any GatedTask)?
  /// Returns a body as a stream that the session can read, which the exchange fills.
  func makeStream(_ body: BodyInputStream, for taskResponse: TaskResponseStream) -> InputStream?
  func finishTasksAndInvalidate()
}

/// A host that runs exchanges on an Apple `URLSession`: the user's, or one of its own that shares the configuration.
final class SystemSessionHost: Sendable {
  let settings: SessionSettings
  private let session: any SystemSession
  /// The session for hops to another origin than the request was meant for: the same without the credentials that it
  /// adds to every request. The session itself would add them.
  private let foreign = Locked<(any SystemSession)?>(nil)
  /// Creates that session at the first such hop; `nil` if the session adds no credentials.
  private let makeForeign: (@Sendable () -> any SystemSession)?
  private let isOwn: Bool
  private let caching: SessionCaching
  private let isBackground: Bool
  private let queue = DispatchQueue(label: "EKNetwork.URLSessionTransport")

  /// - Parameters:
  ///   - configuration: The session's configuration.
  ///   - tls: The options that the session's delegate applies.
  ///   - isOwn: Whether the session belongs to this host alone, and has a delegate that refuses keys.
  ///   - makeForeign: Creates a session like it with another configuration.
  init(
    _ session: any SystemSession, _ configuration: URLSessionConfiguration, tls: TLSOptions? = nil, isOwn: Bool,
    makeForeign: @escaping @Sendable (URLSessionConfiguration) -> any SystemSession
  ) {
    self.session = session
    self.isOwn = isOwn
    caching = SessionCaching(configuration)
    // Read once: each access to a session's configuration copies it.
    isBackground = session.isBackground
    settings = SessionSettings(configuration, systemSendsCookies: true, options: ConnectionOptions(tls: tls))
    guard !isBackground, settings.additionalHeaders.contains(where: { OriginFields.contains($0.name) }),
      let stripped = configuration.copy() as? URLSessionConfiguration
    else {
      self.makeForeign = nil
      return
    }
    stripped.httpAdditionalHeaders = stripped.httpAdditionalHeaders?.filter { !OriginFields.contains("\($0.key)") }
    self.makeForeign = { makeForeign(stripped) }
  }

  deinit {
    // A session keeps its delegate until the session is invalidated.
    if isOwn { session.finishTasksAndInvalidate() }
    foreign.withLock { $0 }?.finishTasksAndInvalidate()
  }

  private func foreignSession() -> (any SystemSession)? {
    guard let makeForeign else { return nil }
    if let made = foreign.withLock({ $0 }) { return made }
    let made = makeForeign()
    let kept = foreign.withLock { kept in
      kept = kept ?? made
      return kept
    }
    // Two concurrent hops have each created one.
    if let kept, kept !== made { made.finishTasksAndInvalidate() }
    return kept
  }

  func start(_ request: TransportRequest, limit: Int) throws -> TaskResponseStream {
    let original = request.urlRequest
    // Here, and for an invalidated session below, Foundation would terminate the process with an exception.
    guard !isBackground else {
      throw URLError.unusable(
        original.url, "A background session only uploads and downloads files; it cannot send this request.")
    }
    // Foundation's own timer enforces the request's idle timeout: it takes `waitsForConnectivity` into account.
    let taskResponse = TaskResponseStream(request, idleTimeout: nil, limit: limit, overflow: .suspend, queue: queue)
    var urlRequest = original
    caching.apply(to: &urlRequest)
    if let body = original.httpBodyStream as? BodyInputStream {
      urlRequest.httpBodyStream = session.makeStream(body, for: taskResponse)
    }
    let sessionTask = SessionTask(
      taskResponse: taskResponse, original: request.hop.own, cookies: nil, addedFields: request.hop.addedFields,
      refusesKeys: isOwn)
    let carrier = request.hop.hasLeftOrigin ? foreignSession() ?? session : session
    guard let task = carrier.makeTask(urlRequest, for: sessionTask, caching: caching) else {
      let error = URLError.unusable(original.url, "The session was invalidated.")
      taskResponse.didComplete(error, response: nil)
      throw error
    }
    taskResponse.gate.start(task)
    return taskResponse
  }
}
