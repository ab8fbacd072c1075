import Dispatch
import Foundation

#if canImport(Darwin)
  import CSession
#endif

#if canImport(Darwin)
  typealias SessionHost = SystemSessionHost

  extension SystemSessionHost {
    /// Returns a host for the user's session. With ``TLSOptions`` the host has a session of its own, which shares the
    /// configuration but no connections.
    static func shared(for session: URLSession, _ tls: TLSOptions? = nil) -> SystemSessionHost {
      guard let tls else {
        let hasDelegate = session.delegate != nil
        return SystemSessionHost(session, session.configuration) {
          let foreign = URLSession(configuration: $0, delegate: session.delegate, delegateQueue: session.delegateQueue)
          // The session was invalidated: its delegate, which may decide on trust, is gone, so nothing must be sent.
          if hasDelegate, foreign.delegate == nil { foreign.invalidateAndCancel() }
          return foreign
        }
      }
      return SessionRecord.of(session).host(tls) {
        let make = { @Sendable in
          URLSession(configuration: $0, delegate: ServerTrustDelegate(tls), delegateQueue: nil)
        }
        let configuration = session.configuration
        if let minimum = tls.minimumVersion {
          configuration.tlsMinimumSupportedProtocolVersion = minimum == .tls12 ? .TLSv12 : .TLSv13
        }
        return SystemSessionHost(make(configuration), configuration, tls: tls, source: session, makeForeign: make)
      }
    }
  }

  extension URLSession: SystemSession {
    var isBackground: Bool { configuration.identifier != nil }

    func makeTask(_ request: URLRequest, for sessionTask: SessionTask, caching: SessionCaching) -> (any GatedTask)? {
      guard let task = ekn_data_task(self, request) else { return nil }
      let delegate = SessionDelegate(source: self, caching: caching)
      delegate.add(sessionTask, identifier: task.taskIdentifier)
      task.delegate = delegate
      return task
    }

    func makeStream(_ body: BodyInputStream, for taskResponse: TaskResponseStream) -> InputStream? {
      StreamSink.makeStream(body, for: taskResponse)
    }
  }
#else
  /// A host that runs exchanges on sessions of its own with the configuration of the user's session.
  final class SessionHost: Sendable {
    /// A timeout that Foundation's own timers never reach: they count whole seconds, and crash the process if one fires
    /// while a redirect is being decided.
    static let never: TimeInterval = 1e9

    /// The session for requests without a body.
    private let pooled: URLSession
    /// The session for requests with a body. They ask for the connection to be closed, so none is reused.
    private let closing: URLSession
    private let pooledDelegate: SessionDelegate
    private let closingDelegate: SessionDelegate
    let settings: SessionSettings
    private let queue = DispatchQueue(label: "EKNetwork.URLSessionTransport")

    private init(_ source: URLSession) {
      let own = source.configuration.detached()
      settings = SessionSettings(own, session: source)
      let caching = SessionCaching(own)
      own.httpCookieStorage = nil
      own.httpShouldSetCookies = false
      // Otherwise Foundation parses every Set-Cookie line although it has nowhere to store a cookie, and its parser
      // crashes the process on certain non-ASCII names.
      own.httpCookieAcceptPolicy = .never
      own.urlCache = nil
      own.timeoutIntervalForRequest = Self.never
      own.httpAdditionalHeaders = nil
      pooledDelegate = SessionDelegate(source: source, caching: caching)
      closingDelegate = SessionDelegate(source: source, caching: caching)
      pooled = URLSession(configuration: own, delegate: pooledDelegate, delegateQueue: nil)
      closing = URLSession(configuration: own, delegate: closingDelegate, delegateQueue: nil)
    }

    deinit {
      // A session retains its delegate until it is invalidated.
      pooled.finishTasksAndInvalidate()
      closing.finishTasksAndInvalidate()
    }

    func start(_ request: TransportRequest, limit: Int) throws -> TaskResponseStream {
      let taskResponse = TaskResponseStream(
        request, idleTimeout: request.sent.idleTimeout(default: settings.requestTimeout), limit: limit,
        overflow: .fail,
        queue: queue)
      // Retains this host, and with it the sessions, until the task has been created.
      queue.async { self.run(taskResponse) }
      return taskResponse
    }

    private func run(_ taskResponse: TaskResponseStream) {
      let hop = taskResponse.request.hop
      var request = hop.sent.urlRequest
      if let body = request.httpBodyStream as? BodyInputStream { request.httpBodyStream = body.unread }
      var added = hop.addedFields
      let hasBody = request.httpBodyStream != nil || !(request.httpBody?.isEmpty ?? true)
      // Foundation adds the length that it knows. A wrong one would desynchronise the connection (RFC 9112 §6.3).
      request.setValue(nil, forHTTPHeaderField: "Content-Length")
      if hasBody {
        request.setValue("close", forHTTPHeaderField: "Connection")
        added.append("Connection")
      }
      // Credentials in the URL are in `Authorization` as far as they are to be sent. libcurl would send them as Basic to a
      // server that has asked for Digest.
      request.url = request.url?.withoutCredentials
      request.timeoutInterval = Self.never
      let task = (hasBody ? closing : pooled).dataTask(with: request)
      (hasBody ? closingDelegate : pooledDelegate).add(
        SessionTask(taskResponse: taskResponse, cookies: settings.cookies, addedFields: added, sent: request),
        identifier: task.taskIdentifier)
      taskResponse.gate.start(task)
    }
  }

  extension SessionHost {
    static func shared(for source: URLSession) -> SessionHost {
      SessionRecord.of(source).host { SessionHost(source) }
    }
  }

  extension URLSessionConfiguration {
    fileprivate func detached() -> URLSessionConfiguration {
      copy() as? URLSessionConfiguration ?? .default
    }
  }
#endif

/// A transport's reference to a session, so that no other one gets its address, and to its host. When the last lease of a
/// session without another owner is released, its connections close.
///
/// Unchecked: the properties are only changed in `deinit`.
final class SessionLease: @unchecked Sendable {
  /// On Apple's platforms it holds the session.
  private(set) var host: SessionHost?
  private var session: AnyObject?
  let identifier: ObjectIdentifier

  /// - Parameter host: The host that runs the session's exchanges; `nil` if none does.
  init(_ session: AnyObject, host: SessionHost? = nil) {
    self.host = host
    self.session = session
    identifier = ObjectIdentifier(session)
  }

  deinit {
    host = nil
    session = nil
    SessionRecord.all.sessionMayBeGone(identifier)
  }
}

/// Values that are kept as long as sessions live.
///
/// The value of a released session is removed with its last transport or, if the user has kept the session for longer
/// than that, when the next one is added.
struct SessionRegistry<Value: Sendable>: Sendable {
  private struct Entry {
    weak var source: AnyObject?
    let value: Value
  }

  private let entries = Locked<[ObjectIdentifier: Entry]>([:])

  /// Returns the value of a session, which is created on first use.
  func value(for source: AnyObject, make: () -> Value) -> Value {
    let key = ObjectIdentifier(source)
    let known = entries.withLock { entries in
      entries[key].flatMap { $0.source === source ? $0.value : nil }
    }
    if let known { return known }
    // Also that of an earlier session with the same address, so that below there is none to be replaced.
    removeReleased { _ in true }
    let made = make()
    return entries.withLock { entries in
      if let entry = entries[key], entry.source === source { return entry.value }
      entries[key] = Entry(source: source, value: made)
      return made
    }
  }

  /// Removes the values of a session if it has been released. Called when a reference to it has been released.
  func sessionMayBeGone(_ session: ObjectIdentifier) { removeReleased { $0 == session } }

  /// For tests: whether there is a value of a session, or of another one that has its address now.
  func contains(_ session: ObjectIdentifier) -> Bool { entries.withLock { $0[session] != nil } }

  /// For tests: whether there is a value of a session that has been released.
  func hasReleased(_ session: ObjectIdentifier) -> Bool {
    let entry = entries.withLock { $0[session] }
    return entry.map { $0.source == nil } ?? false
  }

  /// Looks again at the sessions that lived: the reference with which one was looked at may have been its last.
  private func removeReleased(_ isMeant: (ObjectIdentifier) -> Bool) {
    let living = dropReleased(isMeant)
    if !living.isEmpty { _ = dropReleased(living.contains) }
  }

  private func dropReleased(_ isMeant: (ObjectIdentifier) -> Bool) -> Set<ObjectIdentifier> {
    // Not released under the lock: deinitialising a host calls into Foundation, and that of a session, to which this may be
    // the last reference, may be foreign code.
    let (sources, dropped) = entries.withLock { entries -> ([AnyObject], [Entry]) in
      var (sources, dropped): ([AnyObject], [Entry]) = ([], [])
      for (key, entry) in entries where isMeant(key) {
        if let source = entry.source {
          sources.append(source)
        } else {
          dropped.append(entry)
          entries[key] = nil
        }
      }
      return (sources, dropped)
    }
    withExtendedLifetime(dropped) {}
    return Set(sources.map { ObjectIdentifier($0) })
  }
}

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
  ///   - source: The user's session, if this one belongs to the host alone, and has a delegate that refuses keys.
  ///   - makeForeign: Creates a session like it with another configuration.
  init(
    _ session: any SystemSession, _ configuration: URLSessionConfiguration, tls: TLSOptions? = nil,
    source: AnyObject? = nil, makeForeign: @escaping @Sendable (URLSessionConfiguration) -> any SystemSession
  ) {
    self.session = session
    isOwn = source != nil
    caching = SessionCaching(configuration)
    // Read once: each access to a session's configuration copies it.
    isBackground = session.isBackground
    settings = SessionSettings(
      configuration, systemSendsCookies: true, options: ConnectionOptions(tls: tls), session: source ?? session)
    guard !isBackground, settings.additionalHeaders.contains(where: { OriginFields.stays($0.name) }),
      let stripped = configuration.copy() as? URLSessionConfiguration
    else {
      self.makeForeign = nil
      return
    }
    stripped.httpAdditionalHeaders = stripped.httpAdditionalHeaders?.filter { !OriginFields.stays("\($0.key)") }
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
    let original = request.sent
    // Here, and for an invalidated session below, Foundation would terminate the process with an exception.
    guard !isBackground else {
      throw URLError.unusable(
        original.url, "A background session only uploads and downloads files; it cannot send this request.")
    }
    // Foundation's own timer enforces the request's idle timeout: it takes `waitsForConnectivity` into account.
    let taskResponse = TaskResponseStream(request, idleTimeout: nil, limit: limit, overflow: .suspend, queue: queue)
    var urlRequest = original.urlRequest
    // Credentials in the URL are in `Authorization` already. The session would show them in its errors, and send them a
    // second time after a 401.
    urlRequest.url = original.url.withoutCredentials
    caching.apply(to: &urlRequest)
    let body = original.stream as? BodyInputStream
    if let body { urlRequest.httpBodyStream = session.makeStream(body, for: taskResponse) }
    // The session announces a given length whatever that of the stream is (RFC 9112 §6.3), and knows that of data.
    // Middleware may have replaced the body since the length was set.
    urlRequest.setValue(body?.source.length.map { "\($0)" }, forHTTPHeaderField: "Content-Length")
    urlRequest.setValue(nil, forHTTPHeaderField: "Transfer-Encoding")
    let sessionTask = SessionTask(
      taskResponse: taskResponse, cookies: nil, addedFields: request.hop.addedFields, refusesKeys: isOwn)
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
