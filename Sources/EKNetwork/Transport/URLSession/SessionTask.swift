import Foundation

/// An exchange, with the changes that were made to its request for Foundation's sake, so that they can be undone.
struct SessionTask: Sendable {
  /// The number of challenges that are answered with credentials before the 401 is the result: a delegate that keeps
  /// sending wrong ones must not loop for ever.
  static let challengeLimit = 10

  let taskResponse: TaskResponseStream
  /// The cookies of the source session; `nil` if Foundation manages them.
  let cookies: SessionCookies?
  let addedFields: [String]
  /// Whether a cancellation that the library did not request means that the server's key was refused.
  var refusesKeys = false
  /// The request that Foundation sends on Linux. Its stream is the one that is read.
  var sent: URLRequest?

  private var original: HTTPRequest { taskResponse.request.hop.own }

  func didReceive(_ response: URLResponse, mayAnswer: @autoclosure () -> Bool) {
    guard let response = response as? HTTPURLResponse else { return taskResponse.didReceive(response) }
    store(response)
    taskResponse.didReceive(response, holding: isChallenge(response) && mayAnswer())
  }

  func didComplete(_ error: (any Error)?, response: URLResponse?) {
    // Foundation never reports the response of a redirect without a Location to the delegate.
    if error == nil, let response = response as? HTTPURLResponse, taskResponse.response == nil { store(response) }
    taskResponse.didComplete(error.map { refusal($0) ?? bodyFailure ?? $0 }, response: response)
  }

  /// The error of the request's body. Foundation on Linux only reports that a callback of its own has ended the
  /// transfer.
  private var bodyFailure: (any Error)? { (sent?.httpBodyStream as? BodyInputStream)?.streamError }

  /// Returns the error for a key that the delegate refused, which Foundation only reports as a cancellation.
  private func refusal(_ error: any Error) -> (any Error)? {
    guard refusesKeys, (error as? URLError)?.code == .cancelled else { return nil }
    return URLError(
      .serverCertificateUntrusted, url: original.url, description: "The server's certificate or key is not trusted.")
  }

  /// Returns the request that Foundation proposes for a redirect, without what was added for this hop alone.
  func proposal(_ request: URLRequest, after response: HTTPURLResponse) -> URLRequest {
    var request = request
    #if !canImport(Darwin)
      // If a single character is forbidden, Foundation encodes every "%" once more.
      if let location = ResponseHead(response).hint("location"),
        let target = ServerURL.resolve(location, against: original.url)
      {
        request.url = target
      }
      request.timeoutInterval = original.timeoutInterval
    #endif
    for name in addedFields { request.setValue(nil, forHTTPHeaderField: name) }
    // The stream in Foundation's proposal is the one that it has already read.
    if let source = original.bodySource, source.isReplayable, request.httpMethod == original.method {
      request.httpBodyStream = BodyInputStream(source)
    }
    // Foundation proposes to send credentials to any origin: the user's delegate sees them only where they may be sent.
    if leavesOrigin(request) { request.removeFields { name, _ in OriginFields.stays(name) } }
    return request
  }

  /// Returns the decision of the user's delegate on a proposal. Another origin receives the credentials that the delegate has
  /// set itself, but not those that it has left in the proposal, or copied from its task: the session and middleware may have
  /// added them. What they have added, or replaced, does not become part of the request at the same origin either, from which
  /// another redirect would take it elsewhere.
  func decision(_ request: URLRequest?, on proposal: URLRequest) -> RedirectDecision {
    guard var request else { return .declined }
    guard !request.isSent(like: proposal) else { return .undecided }
    let hop = taskResponse.request.hop
    var sent = sent ?? hop.sent.urlRequest
    // The system has added it, to its task alone.
    if let cookie = hop.sentFields.first("cookie") { sent.setValue(cookie, forHTTPHeaderField: "Cookie") }
    if leavesOrigin(request) {
      request.removeFields {
        OriginFields.stays($0)
          && (proposal.value(forHTTPHeaderField: $0) == $1 || sent.value(forHTTPHeaderField: $0) == $1)
      }
    }
    for (name, value) in request.allHTTPHeaderFields ?? [:] where sent.value(forHTTPHeaderField: name) == value {
      request.setValue(original.value(name.lowercased()), forHTTPHeaderField: name)
    }
    return .request(request)
  }

  private func leavesOrigin(_ request: URLRequest) -> Bool {
    Origin(original.url) != request.url.flatMap { Origin($0) }
  }

  private func store(_ response: HTTPURLResponse) {
    guard let cookies else { return }
    let url = response.url ?? original.url
    guard let lines = response.value(forHTTPHeaderField: "Set-Cookie") else { return }
    let split = SetCookieLine.split(joined: lines).map { Array($0.utf8) }
    cookies.store(setCookieLines: split, for: url, request: original)
  }

  /// Returns whether a response may be replaced after a challenge. On Linux a 401 and its body arrive before the
  /// challenge, so they are held until it is settled, unless nobody will answer it.
  private func isChallenge(_ response: HTTPURLResponse) -> Bool {
    guard response.statusCode == 401 else { return false }
    let schemes = response.value(forHTTPHeaderField: "WWW-Authenticate")?.lowercased() ?? ""
    return schemes.contains("basic") || schemes.contains("digest")
  }

  #if !canImport(Darwin)
    /// Passes on a credential and rejects everything else: Foundation's default handling never ends if there is no
    /// proposed credential, and a credential for anything but Basic crashes the process.
    func answer(
      _ challenge: URLAuthenticationChallenge, with answer: ChallengeAnswer,
      _ completionHandler: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
      let isBasic = challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
      let isEndless = challenge.previousFailureCount >= Self.challengeLimit
      var credential: URLCredential?
      switch answer.disposition {
      case .useCredential: credential = answer.credential
      case .performDefaultHandling: credential = challenge.proposedCredential
      case .cancelAuthenticationChallenge: return taskResponse.fail(URLError(.cancelled, url: original.url))
      default: break
      }
      // The consumer of a 401 that is not held has it already.
      guard let credential, isBasic, !isEndless, taskResponse.isHeadHeld else {
        taskResponse.rejectChallenge()
        return taskResponse.gate.answer { completionHandler(.cancelAuthenticationChallenge, nil) }
      }
      // Foundation reads on in the same stream: it would send no body, or only what an early response has left of it.
      // It has finished the first transfer before it asks, so nothing else reads the stream.
      (sent?.httpBodyStream as? BodyInputStream)?.rewind()
      taskResponse.restartWithCredentials()
      taskResponse.gate.answer { completionHandler(.useCredential, credential) }
    }
  #endif
}

extension URLRequest {
  /// Returns whether nothing relevant was changed. `==` ignores the header fields on Linux.
  func isSent(like other: URLRequest) -> Bool {
    self == other && url == other.url && httpMethod == other.httpMethod && httpBody == other.httpBody
      && httpBodyStream === other.httpBodyStream && timeoutInterval == other.timeoutInterval
      && (allHTTPHeaderFields ?? [:]) == (other.allHTTPHeaderFields ?? [:])
  }
}

/// The two timeouts of an exchange: how long it may be idle, and when it has to be finished.
struct TaskTimeouts {
  private let idle: Duration?
  private let deadline: ContinuousInstant?
  private var lastActivity: ContinuousInstant

  init(idle: Duration?, deadline: ContinuousInstant?, now: ContinuousInstant) {
    self.idle = idle
    self.deadline = deadline
    lastActivity = now
  }

  /// Notes that bytes were transferred, in either direction.
  mutating func noteActivity(_ now: ContinuousInstant) { lastActivity = now }

  /// The next time to check; `nil` if there is nothing to check. An instant in the past means that the time is up.
  ///
  /// Activity only moves this instant, not the timer: a timer that fires early is scheduled again for the new instant.
  var expiry: ContinuousInstant? { [idle.map { lastActivity + $0 }, deadline].compactMap { $0 }.min() }
}

/// The part of a task that a ``TaskGate`` uses.
protocol GatedTask: AnyObject, Sendable {
  /// Whether a delegate callback of the task may still be answered, on Linux.
  var takesAnswers: Bool { get }
  func resume()
  func suspend()
  func cancel()
}

extension URLSessionTask: GatedTask {
  var takesAnswers: Bool { state == .running }
}

/// A gate that serialises all calls to a task.
///
/// FoundationNetworking crashes the process when a redirect or a challenge is answered after the task was cancelled. So
/// on Linux cancelling and answering exclude each other, and nothing is answered after the first cancellation.
///
/// Sendable, unchecked: `task`, `isCancelled` and `isSuspended` are only accessed with `lock` held. The lock may be
/// held while Foundation waits for its own work queue: nothing on that queue ever takes it.
final class TaskGate: @unchecked Sendable {
  private let lock = NSLock()
  private var task: (any GatedTask)?
  private var isCancelled = false
  private var isSuspended = false

  /// Starts the task, unless the exchange has been cancelled in the meantime.
  func start(_ task: any GatedTask) {
    lock.withLock {
      guard !isCancelled else { return task.cancel() }
      self.task = task
      task.resume()
    }
  }

  /// Cancels the task, now or as soon as it starts.
  func cancel() {
    lock.withLock {
      guard !isCancelled else { return }
      isCancelled = true
      task?.cancel()
      task = nil
    }
  }

  /// Runs `answer`, which calls a completion handler of Foundation's, unless it is too late for that. On Apple's
  /// platforms it never is: there each handler has to be called, which has no effect after a cancellation.
  func answer(_ answer: () -> Void) {
    #if canImport(Darwin)
      answer()
    #else
      lock.withLock {
        // The user's own delegate can cancel the task as well, bypassing this gate.
        guard !isCancelled, let task, task.takesAnswers else { return }
        answer()
      }
    #endif
  }

  func close() {
    lock.withLock { task = nil }
  }

  /// Suspends or resumes the task, depending on what `wanted` returns at this moment. Two threads with different
  /// decisions can arrive here in any order: the latest decision holds in the end, and each `suspend` is balanced by a
  /// `resume`.
  func follow(_ wanted: () -> Bool) {
    lock.withLock {
      let wanted = wanted()
      guard let task, wanted != isSuspended else { return }
      isSuspended = wanted
      if wanted { task.suspend() } else { task.resume() }
    }
  }
}
