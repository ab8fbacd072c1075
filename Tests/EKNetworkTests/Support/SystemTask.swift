import Dispatch
import Foundation

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A task that behaves like one of Apple's `URLSession`, over a real socket: suspended, it stops reading, but still
/// delivers what was read before; a cancellation is reported late, on the delegate's queue. Suspending or resuming it
/// twice in a row, which may end the process there, is counted as a fault.
///
/// Sendable, unchecked: everything mutable is reached with `condition` locked.
final class SystemTask: GatedTask, @unchecked Sendable {
  private let port: Int
  private let target: String
  private let taskResponse: TaskResponseStream
  private let delegateQueue = DispatchQueue(label: "SystemTask.delegate")
  private let condition = NSCondition()
  private var isStarted = false
  private var isSuspended = true
  private var isCancelled = false
  private struct Counts {
    var suspensions = 0
    var faults = 0
    var read = 0
    var undelivered = 0
  }

  private var counts = Counts()

  var suspensions: Int { count(\.suspensions) }
  var faults: Int { count(\.faults) }
  var read: Int { count(\.read) }

  init(_ taskResponse: TaskResponseStream, port: Int, target: String) {
    self.taskResponse = taskResponse
    self.port = port
    self.target = target
  }

  private func count(_ which: KeyPath<Counts, Int>) -> Int {
    condition.lock()
    defer { condition.unlock() }
    return counts[keyPath: which]
  }

  var takesAnswers: Bool { true }

  func resume() {
    condition.lock()
    defer { condition.unlock() }
    if !isSuspended { counts.faults += 1 }
    isSuspended = false
    condition.broadcast()
    guard !isStarted else { return }
    isStarted = true
    Thread.detachNewThread { self.run() }
  }

  func suspend() {
    condition.lock()
    defer { condition.unlock() }
    if isSuspended { counts.faults += 1 }
    isSuspended = true
    counts.suspensions += 1
  }

  func cancel() {
    condition.lock()
    defer { condition.unlock() }
    isCancelled = true
    condition.broadcast()
  }

  private var mayRead: Bool {
    condition.lock()
    defer { condition.unlock() }
    // A session, too, stops reading where its delegate does not keep up.
    while isSuspended || counts.undelivered == 16, !isCancelled { condition.wait() }
    return !isCancelled
  }

  private func deliver(_ data: Data) {
    taskResponse.didReceive(data)
    condition.lock()
    defer { condition.unlock() }
    counts.undelivered -= 1
    condition.broadcast()
  }

  private func run() {
    do {
      let client = try RawClient(port: port)
      try client.write("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
      let received = try client.readAnswer(hasBody: false)
      var rest = received.header("Content-Length").flatMap { Int($0) } ?? 0
      let url = try URL(string: "http://127.0.0.1:\(port)\(target)").orThrow()
      let response = try HTTPURLResponse(
        url: url, statusCode: received.status, httpVersion: nil, headerFields: ["Content-Length": "\(rest)"]
      ).orThrow()
      delegateQueue.async { self.taskResponse.didReceive(response) }
      while rest > 0 {
        guard mayRead else { throw URLError(.cancelled) }
        let data = try client.read(upTo: 16 * 1024)
        guard !data.isEmpty else { throw URLError(.networkConnectionLost) }
        rest -= data.count
        condition.lock()
        counts.read += data.count
        counts.undelivered += 1
        condition.unlock()
        delegateQueue.async { self.deliver(data) }
      }
      delegateQueue.async { self.taskResponse.didComplete(nil, response: response) }
    } catch {
      delegateQueue.async { self.taskResponse.didComplete(error, response: nil) }
    }
  }
}

extension Optional {
  fileprivate func orThrow() throws -> Wrapped {
    guard let self else { throw URLError(.badURL) }
    return self
  }
}
