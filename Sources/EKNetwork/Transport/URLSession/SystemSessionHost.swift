import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is needed of a session of Apple's.
protocol SystemSession: AnyObject, Sendable {
  /// Whether it belongs to the system's background daemon, which takes files alone.
  var isBackground: Bool { get }
  /// A task that has yet to be resumed; `nil` where the session was invalidated.
  func makeTask(_ request: URLRequest, for task: SessionTask, caching: SessionCaching) -> (any GatedTask)?
  /// A body as a stream that the session can read, which the exchange fills.
  func makeStream(_ body: BodyInputStream, for taskResponse: TaskResponseStream) -> InputStream?
  func finishTasksAndInvalidate()
}

/// Runs exchanges on a session of Apple's: the user's, or one of our own that shares its configuration.
final class SystemSessionHost: Sendable {
  let settings: SessionSettings
  private let session: any SystemSession
  /// For hops to another origin than the request was meant for: the same session without the credentials that it adds
  /// to every request. The session itself would add them.
  private let foreign = Locked<(any SystemSession)?>(nil)
  /// Makes that session, at the first such hop; `nil` where the session adds none.
  private let makeForeign: (@Sendable () -> any SystemSession)?
  private let isOwn: Bool
  private let caching: SessionCaching
  private let isBackground: Bool
  private let queue = DispatchQueue(label: "EKNetwork.URLSessionTransport")

  /// - Parameters:
  ///   - configuration: The session's.
  ///   - isOwn: Whether the session is this host's alone, and has a delegate that refuses keys.
  ///   - makeForeign: Makes a session like it with another configuration.
  init(
    _ session: any SystemSession, _ configuration: URLSessionConfiguration, isOwn: Bool,
    makeForeign: @escaping @Sendable (URLSessionConfiguration) -> any SystemSession
  ) {
    self.session = session
    self.isOwn = isOwn
    caching = SessionCaching(configuration)
    // Asked once: each look at a session's configuration copies it.
    isBackground = session.isBackground
    settings = SessionSettings(configuration, systemSendsCookies: true)
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
    // Two hops at once have made one each.
    if let kept, kept !== made { made.finishTasksAndInvalidate() }
    return kept
  }

  func start(_ request: TransportRequest, limit: Int) throws -> TaskResponseStream {
    let original = request.urlRequest
    // For both, Foundation would end the process with an exception.
    guard !isBackground else {
      throw URLError.unusable(original.url, "A background session takes files alone.")
    }
    // Foundation's own timer watches the request's idle timeout: it knows of `waitsForConnectivity`.
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
