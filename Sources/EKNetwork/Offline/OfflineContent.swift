import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The body of a request, as a queue stores it.
struct OfflineContent {
  /// The bytes that are stored in the file of the request.
  var data = Data()
  /// The segments that have to be copied into the queue's folder.
  var copied: [BodySegment] = []
  /// The file that is read when the request is sent.
  var file: URL?
  var stored = StoredRequest.Body.none
  /// The request as a queue in memory keeps it.
  var kept: PrismQueuedRequest

  /// - Parameter isDurable: Whether it has to outlive the process.
  init(_ queued: PrismQueuedRequest, _ body: PrismQueuedBody, isDurable: Bool) throws(PrismOfflineQueueError) {
    let request = queued.urlRequest
    kept = queued
    var body = body
    if body == .ofRequest, let file = queued.bodyFile {
      // The request was in a queue before, whose copy of the body may be removed soon.
      body = OfflineStore.isBody(file.lastPathComponent) ? .copy(file) : .reference(file)
    }
    switch body {
    case .reference(let url):
      guard (try? FileSegment(url)) != nil else { throw .bodyNotReadable(url) }
      file = url
      stored = .referenced(path: url.path)
    case .copy(let url):
      guard let segment = try? FileSegment(url) else { throw .bodyNotReadable(url) }
      stored = .copied
      copied = [.file(segment)]
      if isDurable { break }
      guard OfflineStore.isBody(url.lastPathComponent) else {
        file = url
        break
      }
      // The copy of another queue, which removes it with its request: the file is kept open.
      kept.bodyFile = url
      guard let holding = kept.holdingBody else { throw .bodyNotReadable(url) }
      kept = holding
    case .ofRequest:
      if let stream = request.httpBodyStream {
        guard let source = (stream as? BodyInputStream)?.source, case .segments(let segments) = source else {
          throw .bodyNotRepeatable
        }
        stored = .copied
        copied = segments
      } else if let body = request.httpBody {
        stored = .inline
        data = body
      }
    }
    kept.bodyFile = file
  }

  var copiedSize: Int64 { copied.reduce(0) { $0 &+ $1.length } }
  var size: Int64 { Int64(data.count) &+ copiedSize }
}
