import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

#if canImport(Darwin)
  /// Runs exchanges on the user's session.
  final class SessionHost: Sendable {
    private let session: URLSession
    /// For hops to another origin than the request was meant for: the same session without the credentials that it adds
    /// to every request. The user's session would add them by itself.
    private let foreign: URLSession?
    private let queue = DispatchQueue(label: "EKNetwork.URLSessionTransport")
    let description: SessionDescription

    static func shared(for session: URLSession) -> SessionHost { SessionHost(session) }

    static func sessionMayBeGone(_ key: ObjectIdentifier) {}

    private init(_ session: URLSession) {
      self.session = session
      let configuration = session.configuration
      var description = SessionDescription(configuration)
      description.systemSendsCookies = true
      self.description = description
      guard description.additionalHeaders.contains(where: { OriginFields.contains($0.name) }) else {
        foreign = nil
        return
      }
      configuration.httpAdditionalHeaders = configuration.httpAdditionalHeaders?.filter {
        !OriginFields.contains("\($0.key)")
      }
      foreign = URLSession(
        configuration: configuration, delegate: session.delegate, delegateQueue: session.delegateQueue)
    }

    deinit { foreign?.finishTasksAndInvalidate() }

    func start(_ request: TransportRequest, limit: Int) -> URLSessionExchange {
      // Foundation's own timer watches the request's idle timeout: it knows of `waitsForConnectivity`.
      let exchange = URLSessionExchange(
        request, idleTimeout: nil, limit: limit, overflow: .suspend, queue: queue)
      let delegate = SessionDelegate(source: session)
      var urlRequest = request.urlRequest
      if let body = urlRequest.httpBodyStream as? BodyStream { urlRequest.httpBodyStream = SystemStream.make(body) }
      let task = (request.hop.hasLeftOrigin ? foreign ?? session : session).dataTask(with: urlRequest)
      task.delegate = delegate
      delegate.add(
        SessionTask(
          exchange: exchange, original: request.hop.own, cookies: nil, addedFields: request.hop.addedFields),
        identifier: task.taskIdentifier)
      exchange.gate.start(task)
      return exchange
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
    let description: SessionDescription
    private let queue = DispatchQueue(label: "EKNetwork.URLSessionTransport")

    private init(_ source: URLSession) {
      let own = source.configuration.detached()
      description = SessionDescription(own)
      own.httpCookieStorage = nil
      own.httpShouldSetCookies = false
      // Without it Foundation parses every Set-Cookie line although it has nowhere to put a cookie, and its parser
      // ends the process on certain non-ASCII names.
      own.httpCookieAcceptPolicy = .never
      own.urlCache = nil
      own.timeoutIntervalForRequest = Self.never
      own.httpAdditionalHeaders = nil
      pooledDelegate = SessionDelegate(source: source)
      closingDelegate = SessionDelegate(source: source)
      pooled = URLSession(configuration: own, delegate: pooledDelegate, delegateQueue: nil)
      closing = URLSession(configuration: own, delegate: closingDelegate, delegateQueue: nil)
    }

    deinit {
      // A session keeps its delegate until it is told that no more tasks will come.
      pooled.finishTasksAndInvalidate()
      closing.finishTasksAndInvalidate()
    }

    func start(_ request: TransportRequest, limit: Int) -> URLSessionExchange {
      let exchange = URLSessionExchange(
        request, idleTimeout: request.urlRequest.idleTimeout(default: description.requestTimeout), limit: limit,
        overflow: .fail,
        queue: queue)
      // Keeps this host, and with it the sessions, until the task has been made.
      queue.async { self.run(exchange) }
      return exchange
    }

    private func run(_ exchange: URLSessionExchange) {
      let hop = exchange.request.hop
      var request = hop.urlRequest
      if let body = request.httpBodyStream as? BodyStream { request.httpBodyStream = body.unread }
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
        SessionTask(exchange: exchange, original: hop.own, cookies: description.cookies, addedFields: added),
        identifier: task.taskIdentifier)
      exchange.gate.start(task)
    }
  }

  // MARK: - One host for each session

  extension SessionHost {
    private struct Entry {
      weak var source: URLSession?
      let host: SessionHost
    }

    // Shared, because a session of one's own for each request would cost its connection each time, and a `URLSession`
    // has no room for one. The entry of a session that is gone leaves with its last transport; where the user has kept
    // the session for longer than that, with the next new session.
    private static let entries = Locked<[ObjectIdentifier: Entry]>([:])

    /// The host of a session, made when it is first needed.
    static func shared(for source: URLSession) -> SessionHost {
      let key = ObjectIdentifier(source)
      let known = entries.withLock { entries in
        entries[key].flatMap { $0.source === source ? $0.host : nil }
      }
      if let known { return known }
      let made = SessionHost(source)
      let (host, dropped) = entries.withLock { entries in
        if let entry = entries[key], entry.source === source { return (entry.host, [Entry]()) }
        let dropped = entries.filter { $0.value.source == nil }
        for key in dropped.keys { entries[key] = nil }
        let replaced = entries.updateValue(Entry(source: source, host: made), forKey: key)
        return (made, Array(dropped.values) + (replaced.map { [$0] } ?? []))
      }
      // Out here: the end of a host calls Foundation.
      withExtendedLifetime(dropped) {}
      return host
    }

    /// A transport is gone. If its session is, too, so is the host, and its idle connections close.
    static func sessionMayBeGone(_ key: ObjectIdentifier) {
      let dropped = entries.withLock { entries -> Entry? in
        guard let entry = entries[key], entry.source == nil else { return nil }
        return entries.removeValue(forKey: key)
      }
      withExtendedLifetime(dropped) {}
    }
  }

  extension URLSessionConfiguration {
    fileprivate func detached() -> URLSessionConfiguration {
      copy() as? URLSessionConfiguration ?? .default
    }
  }
#endif
