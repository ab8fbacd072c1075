import Foundation

#if canImport(Darwin)
  import Security
#endif

/// The delegate of the library's tasks, which forwards to the user's delegate the calls that it expects.
///
/// On Apple's platforms it is the delegate of each task, so whatever it does not implement falls back to the session's
/// own delegate. On Linux a task's delegate receives no data callbacks, so it is the delegate of a session of the
/// library's own.
///
/// Sendable, unchecked: `tasks` is a `Locked`, and the weak `source` is set once, before the delegate is shared.
final class SessionDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  private weak var source: URLSession?
  private let caching: SessionCaching
  private let tasks = Locked<[Int: SessionTask]>([:])

  /// - Parameter source: The user's session, which is held weakly: it may indirectly own this delegate.
  init(source: URLSession, caching: SessionCaching) {
    self.source = source
    self.caching = caching
  }

  /// Registers the exchange of a task. Must be called before the task is resumed, or its first callback would find
  /// none.
  func add(_ task: SessionTask, identifier: Int) {
    tasks.withLock { $0[identifier] = task }
  }

  private func sessionTask(_ task: URLSessionTask) -> SessionTask? {
    tasks.withLock { $0[task.taskIdentifier] }
  }

  /// Calls the user's delegate on the queue of its session, which on Apple's platforms is the current one.
  private func callUser(_ call: @escaping @Sendable (URLSession, any URLSessionDelegate) -> Void) -> Bool {
    guard let source, let delegate = source.delegate else { return false }
    #if canImport(Darwin)
      call(source, delegate)
    #else
      source.delegateQueue.addOperation { call(source, delegate) }
    #endif
    return true
  }

  /// Whether a challenge in a response may be answered, by the user's delegate or with a stored credential.
  private var mayAnswer: Bool {
    #if canImport(Darwin)
      return false
    #else
      guard let source else { return false }
      return source.delegate != nil || source.configuration.urlCredentialStorage?.allCredentials.isEmpty == false
    #endif
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    sessionTask(dataTask)?.didReceive(response, mayAnswer: mayAnswer)
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    sessionTask(dataTask)?.taskResponse.didReceive(data)
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let finished = tasks.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    finished?.didComplete(error, response: task.response)
  }

  #if canImport(Darwin)
    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, visionOS 1, *)
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) {
      sessionTask(task)?.taskResponse.request.onInterim?.received(response)
      guard let source, let delegate = source.delegate as? any URLSessionTaskDelegate else { return }
      delegate.urlSession?(source, task: task, didReceiveInformationalResponse: response)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
      sessionTask(task)?.taskResponse.didMeasure(NetworkTimings(metrics))
      guard let source, let delegate = source.delegate as? any URLSessionTaskDelegate else { return }
      delegate.urlSession?(source, task: task, didFinishCollecting: metrics)
    }

    func urlSession(
      _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposed: CachedURLResponse,
      completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
      guard caching.isWanted else { return completionHandler(nil) }
      let delegate = source?.delegate as? any URLSessionDataDelegate
      let asked: Void? = delegate?.urlSession?(
        session, dataTask: dataTask, willCacheResponse: proposed, completionHandler: completionHandler)
      if asked == nil { completionHandler(proposed) }
    }
  #endif

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    sessionTask(task)?.taskResponse.didSend(totalBytesSent, expected: totalBytesExpectedToSend)
    _ = callUser { session, delegate in
      let delegate = delegate as? any URLSessionTaskDelegate
      #if canImport(Darwin)
        delegate?.urlSession?(
          session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
          totalBytesExpectedToSend: totalBytesExpectedToSend)
      #else
        delegate?.urlSession(
          session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
          totalBytesExpectedToSend: totalBytesExpectedToSend)
      #endif
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
  ) {
    // On Linux this is called on Foundation's own work queue: nothing here may block, least of all on the task's gate.
    guard let sessionTask = sessionTask(task) else { return completionHandler(nil) }
    completionHandler(sessionTask.taskResponse.secondBody())
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    guard let sessionTask = sessionTask(task) else {
      #if canImport(Darwin)
        completionHandler(nil)
      #endif
      return
    }
    let proposal = sessionTask.proposal(request, after: response)
    // Always declined here: the next hop is a separate task, sent by the engine above the `Transport` seam.
    let answer = Once<URLRequest?> { request in
      sessionTask.taskResponse.decide(sessionTask.decision(request, on: proposal))
      sessionTask.taskResponse.gate.answer { completionHandler(nil) }
    }
    let isAsked = callUser { session, delegate in
      guard let delegate = delegate as? any URLSessionTaskDelegate else { return answer(proposal) }
      #if canImport(Darwin)
        let call: Void? = delegate.urlSession?(
          session, task: task, willPerformHTTPRedirection: response, newRequest: proposal,
          completionHandler: { answer($0) })
        if call == nil { answer(proposal) }
      #else
        delegate.urlSession(
          session, task: task, willPerformHTTPRedirection: response, newRequest: proposal,
          completionHandler: { answer($0) })
      #endif
    }
    if !isAsked { answer(proposal) }
  }

  #if !canImport(Darwin)
    func urlSession(
      _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard let sessionTask = sessionTask(task) else { return }
      let answer = Once<ChallengeAnswer> { sessionTask.answer(challenge, with: $0, completionHandler) }
      let isAsked = callUser { session, delegate in
        let askSession: @Sendable () -> Void = {
          delegate.urlSession(session, didReceive: challenge) { answer(ChallengeAnswer($0, $1)) }
        }
        guard let taskDelegate = delegate as? any URLSessionTaskDelegate else { return askSession() }
        taskDelegate.urlSession(session, task: task, didReceive: challenge) { disposition, credential in
          // There is no way to tell here whether the delegate implements the method: the protocol's own extension
          // answers with default handling, and then the session-wide method is called.
          guard disposition != .performDefaultHandling else { return askSession() }
          answer(ChallengeAnswer(disposition, credential))
        }
      }
      if !isAsked { answer(ChallengeAnswer(.performDefaultHandling)) }
    }
  #endif
}

struct ChallengeAnswer: Sendable {
  var disposition: URLSession.AuthChallengeDisposition
  var credential: URLCredential?

  init(_ disposition: URLSession.AuthChallengeDisposition, _ credential: URLCredential? = nil) {
    self.disposition = disposition
    self.credential = credential
  }
}

/// A completion handler that acts on its first call only: FoundationNetworking crashes on a second one.
struct Once<Value>: Sendable {
  private let isDone = Locked(false)
  private let action: @Sendable (Value) -> Void

  init(_ action: @escaping @Sendable (Value) -> Void) { self.action = action }

  func callAsFunction(_ value: Value) {
    if !isDone.withLock({ exchange(&$0, with: true) }) { action(value) }
  }
}

#if canImport(Darwin)
  /// The evaluation of a server's trust according to ``TLSOptions``, for sessions and for sockets.
  struct ServerTrust: Sendable {
    enum Verdict { case trusted, untrusted, wrongKey }

    let options: TLSOptions

    func verdict(on trust: SecTrust) -> Verdict {
      if let file = options.certificateAuthorityFile {
        let anchors = PEMFile.certificates(in: file)?.compactMap { SecCertificateCreateWithData(nil, $0 as CFData) }
        guard let anchors, !anchors.isEmpty, SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
          SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
        else { return .wrongKey }
      }
      guard SecTrustEvaluateWithError(trust, nil) else { return .untrusted }
      guard !options.pinnedPublicKeys.isEmpty else { return .trusted }
      guard let leaf = (SecTrustCopyCertificateChain(trust) as? [SecCertificate])?.first else { return .wrongKey }
      let certificate = [UInt8](SecCertificateCopyData(leaf) as Data)
      return SubjectPublicKey.isPinned(certificate, by: options.pinnedPublicKeys) ? .trusted : .wrongKey
    }
  }

  final class ServerTrustDelegate: NSObject, URLSessionDelegate {
    private let trust: ServerTrust

    init(_ options: TLSOptions) { trust = ServerTrust(options: options) }

    func urlSession(
      _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
      completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust else {
        return completionHandler(.performDefaultHandling, nil)
      }
      let chain = challenge.protectionSpace.serverTrust
      switch chain.map(trust.verdict(on:)) ?? .wrongKey {
      case .trusted: completionHandler(.useCredential, chain.map { URLCredential(trust: $0) })
      // The system's default handling comes to the same verdict, and reports what is wrong.
      case .untrusted where trust.options.certificateAuthorityFile == nil:
        completionHandler(.performDefaultHandling, nil)
      case .untrusted, .wrongKey: completionHandler(.cancelAuthenticationChallenge, nil)
      }
    }
  }
#endif
