import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(Darwin)
  import CSession
#endif

#if canImport(Darwin)
  typealias SessionHost = SystemSessionHost

  extension SystemSessionHost {
    private static let secured = SessionRegistry<TLSOptions, SystemSessionHost>()

    /// Returns a host for the user's session. With ``TLSOptions`` the host has a session of its own, which shares the
    /// configuration but no connections.
    static func shared(for session: URLSession, _ tls: TLSOptions? = nil) -> SystemSessionHost {
      guard let tls else {
        let hasDelegate = session.delegate != nil
        return SystemSessionHost(session, session.configuration, isOwn: false) {
          let foreign = URLSession(configuration: $0, delegate: session.delegate, delegateQueue: session.delegateQueue)
          // The session was invalidated: its delegate, which may decide on trust, is gone, so nothing must be sent.
          if hasDelegate, foreign.delegate == nil { foreign.invalidateAndCancel() }
          return foreign
        }
      }
      return secured.host(for: session, tls) {
        let make = { @Sendable in
          URLSession(configuration: $0, delegate: ServerTrustDelegate(tls), delegateQueue: nil)
        }
        let configuration = session.configuration
        if let minimum = tls.minimumVersion {
          configuration.tlsMinimumSupportedProtocolVersion = minimum == .tls12 ? .TLSv12 : .TLSv13
        }
        return SystemSessionHost(make(configuration), configuration, tls: tls, isOwn: true, makeForeign: make)
      }
    }

    /// Removes the hosts of a session if it is gone. Called when a transport has been released.
    static func sessionMayBeGone(_ session: ObjectIdentifier) { secured.sessionMayBeGone(session) }
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
      settings = SessionSettings(own)
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
        request, idleTimeout: request.urlRequest.idleTimeout(default: settings.requestTimeout), limit: limit,
        overflow: .fail,
        queue: queue)
      // Retains this host, and with it the sessions, until the task has been created.
      queue.async { self.run(taskResponse) }
      return taskResponse
    }

    private func run(_ taskResponse: TaskResponseStream) {
      let hop = taskResponse.request.hop
      var request = hop.urlRequest
      if let body = request.httpBodyStream as? BodyInputStream { request.httpBodyStream = body.unread }
      var added = hop.addedFields
      let hasBody = request.httpBodyStream != nil || !(request.httpBody?.isEmpty ?? true)
      // Foundation adds the length that it knows. A wrong one would desynchronise the connection (RFC 9112 §6.3).
      request.setValue(nil, forHTTPHeaderField: "Content-Length")
      if hasBody {
        request.setValue("close", forHTTPHeaderField: "Connection")
        added.append("Connection")
      }
      request.timeoutInterval = Self.never
      let task = (hasBody ? closing : pooled).dataTask(with: request)
      (hasBody ? closingDelegate : pooledDelegate).add(
        SessionTask(taskResponse: taskResponse, original: hop.own, cookies: settings.cookies, addedFields: added),
        identifier: task.taskIdentifier)
      taskResponse.gate.start(task)
    }
  }

  // MARK: - One host for each session

  extension SessionHost {
    private static let hosts = SessionRegistry<Bool, SessionHost>()

    /// Returns the host of a session, which is created on first use.
    static func shared(for source: URLSession) -> SessionHost {
      hosts.host(for: source, true) { SessionHost(source) }
    }

    /// Removes the host of a session if the session is gone, which closes its idle connections. Called when a transport
    /// has been released.
    static func sessionMayBeGone(_ session: ObjectIdentifier) { hosts.sessionMayBeGone(session) }
  }

  extension URLSessionConfiguration {
    fileprivate func detached() -> URLSessionConfiguration {
      copy() as? URLSessionConfiguration ?? .default
    }
  }
#endif

/// A transport's reference to a session and its host. When the last lease of a session without another owner is
/// released, its connections close.
///
/// Unchecked: `held` is only changed in `deinit`.
final class SessionLease: @unchecked Sendable {
  let host: SessionHost
  private var held: URLSession?
  private let key: ObjectIdentifier

  /// - Parameter host: The host that runs the session's exchanges; `nil` for the usual one.
  init(_ session: URLSession, host: SessionHost? = nil) {
    self.host = host ?? SessionHost.shared(for: session)
    held = session
    key = ObjectIdentifier(session)
  }

  deinit {
    held = nil
    SessionHost.sessionMayBeGone(key)
  }
}

/// The hosts of sessions, each of which is kept as long as its session lives.
///
/// Shared, because a host for each request would cost a new connection each time, and a `URLSession` cannot store one.
/// The entry of a released session is removed with its last transport or, if the user has kept the session for longer
/// than that, when the next host is added.
struct SessionRegistry<Variant: Hashable & Sendable, Host: AnyObject & Sendable>: Sendable {
  private struct Key: Hashable {
    let session: ObjectIdentifier
    let variant: Variant
  }

  private struct Entry {
    weak var source: URLSession?
    let host: Host
  }

  private let entries = Locked<[Key: Entry]>([:])

  /// Returns the host of a session, which is created on first use.
  func host(for source: URLSession, _ variant: Variant, make: () -> Host) -> Host {
    let key = Key(session: ObjectIdentifier(source), variant: variant)
    let known = entries.withLock { entries in
      entries[key].flatMap { $0.source === source ? $0.host : nil }
    }
    if let known { return known }
    let made = make()
    let (host, dropped) = entries.withLock { entries in
      if let entry = entries[key], entry.source === source { return (entry.host, [Entry]()) }
      let dropped = entries.filter { $0.value.source == nil }
      for key in dropped.keys { entries[key] = nil }
      let replaced = entries.updateValue(Entry(source: source, host: made), forKey: key)
      return (made, Array(dropped.values) + (replaced.map { [$0] } ?? []))
    }
    // Released outside the lock: deinitialising a host calls into Foundation.
    withExtendedLifetime(dropped) {}
    return host
  }

  /// Removes the hosts of a session if the session is gone. Called when a reference to it has been released.
  func sessionMayBeGone(_ session: ObjectIdentifier) {
    let dropped = entries.withLock { entries in
      let gone = entries.filter { $0.key.session == session && $0.value.source == nil }
      for key in gone.keys { entries[key] = nil }
      return Array(gone.values)
    }
    withExtendedLifetime(dropped) {}
  }
}
