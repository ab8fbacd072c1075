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
    var identifier = 0
  }

  private struct Owner: Sendable {
    weak var center: BackgroundCenter?
  }

  let jobs = Locked<[Job]>([])
  let accepts = Locked(true)
  private let lastIdentifier = Locked(0)
  /// The app that runs now.
  private let owner = Locked(Owner())

  /// Serves another run of the app.
  func serve(_ center: BackgroundCenter) -> StandInTasks {
    owner.withLock { $0.center = center }
    return self
  }

  func download(_ request: URLRequest, resumeData: Data?, text: String) throws {
    try add(Job(request: request, resumeData: resumeData, text: text))
  }

  func upload(_ request: URLRequest, from file: URL, text: String) throws {
    try add(Job(request: request, file: file, text: text))
  }

  private func add(_ job: Job) throws {
    guard accepts.withLock({ $0 }) else { throw URLError(.resourceUnavailable) }
    var job = job
    job.identifier = lastIdentifier.withLock { number in
      number += 1
      return number
    }
    jobs.withLock { [job] in $0.append(job) }
  }

  func all() async -> [BackgroundTaskStatus] { jobs.withLock { $0 }.map { Self.status($0, 3, 9) } }

  /// Cancels jobs. Like the system, it lists them until their end is delivered, a little later.
  func cancel(_ isMeant: @escaping @Sendable (String?) -> Bool) async -> Set<Int> {
    let meant = jobs.withLock { $0 }.filter { isMeant($0.text) }
    let center = owner.withLock { $0.center }
    Task { [jobs] in
      for job in meant {
        for _ in 0..<100 { await Task.yield() }
        center?.completed(Self.status(job, 0, 0), nil, URLError(.cancelled), resumeData: nil)
        jobs.withLock { $0.removeAll { $0.identifier == job.identifier } }
      }
    }
    return Set(meant.map(\.identifier))
  }

  private static func status(_ job: Job, _ completed: Int64, _ total: Int64) -> BackgroundTaskStatus {
    BackgroundTaskStatus(identifier: job.identifier, text: job.text, completedBytes: completed, totalBytes: total)
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
      return center.completed(Self.status(job, 0, 0), nil, error, resumeData: Data("rest".utf8))
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
    center.completed(Self.status(job, size, size), response.head.urlResponse, nil, resumeData: nil)
  }
}

func anotherEvent(_ sourceLocation: SourceLocation = #_sourceLocation) {
  Issue.record("The event is another one.", sourceLocation: sourceLocation)
}
