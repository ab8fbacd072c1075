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

    /// A host for the user's session; with ``TLSOptions`` one with a session of its own, which shares the
    /// configuration, and no connection.
    static func shared(for session: URLSession, _ tls: TLSOptions? = nil) -> SystemSessionHost {
      guard let tls else {
        let hasDelegate = session.delegate != nil
        return SystemSessionHost(session, session.configuration, isOwn: false) {
          let foreign = URLSession(configuration: $0, delegate: session.delegate, delegateQueue: session.delegateQueue)
          // The session was invalidated: without its delegate, which may decide on trust, nothing is sent.
          if hasDelegate, foreign.delegate == nil { foreign.invalidateAndCancel() }
          return foreign
        }
      }
      return secured.host(for: session, tls) {
        let make = { @Sendable in
          URLSession(configuration: $0, delegate: ServerTrustDelegate(tls), delegateQueue: nil)
        }
        return SystemSessionHost(make(session.configuration), session.configuration, isOwn: true, makeForeign: make)
      }
    }

    /// A transport is gone.
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
  /// Runs exchanges on sessions of our own that share the configuration of the user's.
  final class SessionHost: Sendable {
    /// Foundation's own timers are far away: they count whole seconds, and end the process when one fires while a
    /// redirect is being decided.
    static let never: TimeInterval = 1e9

    /// For requests without a body.
    private let pooled: URLSession
    /// For requests with one. Every request asks for the connection to be closed, so none is ever used again.
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
      // Without it Foundation parses every Set-Cookie line although it has nowhere to put a cookie, and its parser
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
      // A session keeps its delegate until the session is invalidated.
      pooled.finishTasksAndInvalidate()
      closing.finishTasksAndInvalidate()
    }

    func start(_ request: TransportRequest, limit: Int) throws -> TaskResponseStream {
      let taskResponse = TaskResponseStream(
        request, idleTimeout: request.urlRequest.idleTimeout(default: settings.requestTimeout), limit: limit,
        overflow: .fail,
        queue: queue)
      // Keeps this host, and with it the sessions, until the task has been made.
      queue.async { self.run(taskResponse) }
      return taskResponse
    }

    private func run(_ taskResponse: TaskResponseStream) {
      let hop = taskResponse.request.hop
      var request = hop.urlRequest
      if let body = request.httpBodyStream as? BodyInputStream { request.httpBodyStream = body.unread }
      var added = hop.addedFields
      let hasBody = request.httpBodyStream != nil || !(request.httpBody?.isEmpty ?? true)
      // Foundation adds the length that it knows. A wrong one desynchronises the connection (RFC 9112 §6.3).
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

    /// The host of a session, made when it is first needed.
    static func shared(for source: URLSession) -> SessionHost {
      hosts.host(for: source, true) { SessionHost(source) }
    }

    /// A transport is gone. If its session is, too, so is the host, and its idle connections close.
    static func sessionMayBeGone(_ session: ObjectIdentifier) { hosts.sessionMayBeGone(session) }
  }

  extension URLSessionConfiguration {
    fileprivate func detached() -> URLSessionConfiguration {
      copy() as? URLSessionConfiguration ?? .default
    }
  }
#endif
