import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What is needed of a session of Apple's.
protocol SystemSession: Sendable {
  /// Whether it belongs to the system's background daemon, which takes files alone.
  var isBackground: Bool { get }
  /// A task that has yet to be resumed; `nil` where the session was invalidated.
  func makeTask(_ request: URLRequest, for task: SessionTask, caching: SessionCaching) -> (any GatedTask)?
  /// A body as a stream that the session can read, which the exchange fills.
  func makeStream(_ body: BodyStream, for exchange: URLSessionExchange) -> InputStream?
  func finishTasksAndInvalidate()
}

/// Runs exchanges on a session of Apple's: the user's, or one of our own that shares its configuration.
final class SystemSessionHost: Sendable {
  private let session: any SystemSession
  private let isOwn: Bool
  private let caching: SessionCaching
  private let isBackground: Bool
  private let queue = DispatchQueue(label: "EKNetwork.URLSessionTransport")

  /// - Parameter isOwn: Whether the session is this host's alone, and has a delegate that refuses keys.
  init(_ session: any SystemSession, _ configuration: URLSessionConfiguration, isOwn: Bool) {
    self.session = session
    self.isOwn = isOwn
    caching = SessionCaching(configuration)
    // Asked once: each look at a session's configuration copies it.
    isBackground = session.isBackground
  }

  deinit {
    // A session keeps its delegate until it is told that no more tasks will come.
    if isOwn { session.finishTasksAndInvalidate() }
  }

  func start(_ request: TransportRequest, limit: Int) throws -> URLSessionExchange {
    let original = request.urlRequest
    // For both, Foundation would end the process with an exception.
    guard !isBackground else {
      throw URLError.unusable(original.url, "A background session takes files alone.")
    }
    // Foundation's own timer watches the request's idle timeout: it knows of `waitsForConnectivity`.
    let exchange = URLSessionExchange(request, idleTimeout: nil, limit: limit, overflow: .suspend, queue: queue)
    var urlRequest = original
    caching.apply(to: &urlRequest)
    if let body = original.httpBodyStream as? BodyStream {
      urlRequest.httpBodyStream = session.makeStream(body, for: exchange)
    }
    let sessionTask = SessionTask(
      exchange: exchange, original: original, cookies: nil, addedFields: [], refusesKeys: isOwn)
    guard let task = session.makeTask(urlRequest, for: sessionTask, caching: caching) else {
      exchange.cancel()
      throw URLError.unusable(original.url, "The session was invalidated.")
    }
    exchange.gate.start(task)
    return exchange
  }
}
