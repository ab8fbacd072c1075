import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Stands in for the system, which keeps tasks across runs of the app: it performs them over the network when a test says so.
final class StandInTasks: BackgroundTasks {
  struct Job: Sendable {
    let request: URLRequest
    var file: URL?
    var resumeData: Data?
    let text: String
  }

  let jobs = Locked<[Job]>([])
  let accepts = Locked(true)

  func download(_ request: URLRequest, resumeData: Data?, text: String) throws {
    try add(Job(request: request, resumeData: resumeData, text: text))
  }

  func upload(_ request: URLRequest, from file: URL, text: String) throws {
    try add(Job(request: request, file: file, text: text))
  }

  private func add(_ job: Job) throws {
    guard accepts.withLock({ $0 }) else { throw URLError(.resourceUnavailable) }
    jobs.withLock { $0.append(job) }
  }

  func all() async -> [BackgroundTaskStatus] { jobs.withLock { $0 }.map { Self.status($0.text, 3, 9) } }

  func cancel(_ isMeant: @escaping @Sendable (String?) -> Bool) async {
    jobs.withLock { $0.removeAll { isMeant($0.text) } }
  }

  static func status(_ text: String?, _ completed: Int64, _ total: Int64) -> BackgroundTaskStatus {
    BackgroundTaskStatus(text: text, completedBytes: completed, totalBytes: total)
  }

  /// Performs the first job, for the app that runs now.
  func perform(for center: BackgroundCenter) async throws {
    let job = jobs.withLock { $0.removeFirst() }
    var request = job.request
    if let file = job.file {
      let segment = try FileSegment(file)
      request.httpBodyStream = BodyInputStream(.segments([.file(segment)]))
      request.setValue("\(segment.size)", forHTTPHeaderField: "Content-Length")
    }
    let response: CollectedResponse
    do {
      response = try await TransportSelection.transport(for: URLSession.shared).fetch(TransportRequest(request))
    } catch {
      return center.completed(Self.status(job.text, 0, 0), nil, error, resumeData: Data("rest".utf8))
    }
    let size = Int64(response.data.count)
    center.progressed(job.text, size, of: size)
    if job.file == nil {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("EKNetwork-\(UUID().uuidString)")
      try response.data.write(to: file)
      center.downloaded(job.text, to: file, response.head.urlResponse)
      try? FileManager.default.removeItem(at: file)
    } else {
      center.received(job.text, response.data)
    }
    center.completed(Self.status(job.text, size, size), response.head.urlResponse, nil, resumeData: nil)
  }
}

func anotherEvent(_ sourceLocation: SourceLocation = #_sourceLocation) {
  Issue.record("The event is another one.", sourceLocation: sourceLocation)
}
