import Foundation
import LoopbackServer

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

final class RedirectDelegate: NSObject, URLSessionTaskDelegate {
  let proposals = Locked<[URLRequest]>([])
  let queues = Locked<[OperationQueue?]>([])
  private let decide: @Sendable (URLRequest) -> URLRequest?
  private let copiesTask: Bool

  /// - Parameter copiesTask: Whether it copies the header fields of its task first.
  init(copiesTask: Bool = false, _ decide: @escaping @Sendable (URLRequest) -> URLRequest?) {
    self.copiesTask = copiesTask
    self.decide = decide
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    proposals.withLock { $0.append(request) }
    queues.withLock { $0.append(OperationQueue.current) }
    var request = request
    if copiesTask { request.allHTTPHeaderFields = task.originalRequest?.allHTTPHeaderFields }
    completionHandler(decide(request))
  }
}

final class SilentDelegate: NSObject, URLSessionTaskDelegate {
  let asked = Gate()
  private let pending = Locked<[@Sendable (URLRequest?) -> Void]>([])

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    pending.withLock { $0.append(completionHandler) }
    asked.open()
  }

  func answerTwice() {
    for handler in pending.withLock({ $0 }) {
      handler(nil)
      handler(nil)
    }
  }
}

final class TaskChallengeDelegate: NSObject, URLSessionTaskDelegate {
  private let answer: ChallengeAnswer

  init(_ answer: ChallengeAnswer) { self.answer = answer }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    completionHandler(answer.disposition, answer.credential)
  }
}

final class SessionChallengeDelegate: NSObject, URLSessionDelegate {
  private let answer: ChallengeAnswer

  init(_ answer: ChallengeAnswer) { self.answer = answer }

  func urlSession(
    _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    completionHandler(answer.disposition, answer.credential)
  }
}

final class ProgressDelegate: NSObject, URLSessionTaskDelegate {
  let sent = Locked<Int64>(0)

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
    totalBytesExpectedToSend: Int64
  ) {
    sent.withLock { $0 = max($0, totalBytesSent) }
  }
}

/// Responds to every request with 203.
final class CannedProtocol: URLProtocol {
  override class func canInit(with request: URLRequest) -> Bool { true }
  override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

  override func startLoading() {
    guard let url = request.url,
      let response = HTTPURLResponse(url: url, statusCode: 203, httpVersion: "HTTP/1.1", headerFields: [:])
    else { return }
    client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    client?.urlProtocol(self, didLoad: Data("canned".utf8))
    client?.urlProtocolDidFinishLoading(self)
  }

  override func stopLoading() {}
}
