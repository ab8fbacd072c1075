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

  /// - Parameter isDurable: Whether it has to outlive the process.
  init(_ queued: PrismQueuedRequest, _ body: PrismQueuedBody, isDurable: Bool) throws(PrismOfflineQueueError) {
    let request = queued.urlRequest
    var body = body
    if body == .ofRequest, request.httpBody == nil, request.httpBodyStream == nil, let file = queued.bodyFile {
      // The request was in a queue before, whose copy of the body may be removed soon.
      body = file.pathExtension == OfflineStore.bodyExtension ? .copy(file) : .reference(file)
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
      if !isDurable { file = url }
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
  }

  var copiedSize: Int64 { copied.reduce(0) { $0 &+ $1.length } }
  var size: Int64 { Int64(data.count) &+ copiedSize }
}
