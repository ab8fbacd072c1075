import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// How a queue stores the requests that it accepts.
extension PrismOfflineQueue {
  /// Returns a request as an entry of the queue, after writing it to the folder if there is one.
  func keep(_ request: PrismQueuedRequest, _ body: PrismQueuedBody) throws -> OfflineQueueEntry {
    guard request.urlRequest.url != nil else { throw PrismOfflineQueueError.noURL }
    let content = try OfflineContent(request, body, isDurable: store != nil)
    guard let store else {
      try state.check(bytes: content.size)
      return OfflineQueueEntry(sequence: state.takeSequence(), request: content.kept, bytes: content.size)
    }
    let stored = try StoredRequest(request, body: content.stored, storesCredentials: options.storesCredentials)
    let bytes = store.size(of: stored, content.data) + content.copiedSize
    try state.check(bytes: bytes)
    let sequence = state.takeSequence()
    var kept = stored.request(retryCount: request.retryCount, data: content.data, file: content.file)
    if !content.copied.isEmpty { kept.bodyFile = try store.copy(content.copied, sequence: sequence) }
    do {
      try store.write(stored, content.data, sequence: sequence, retryCount: request.retryCount)
    } catch {
      store.removeBody(sequence)
      throw error
    }
    return OfflineQueueEntry(sequence: sequence, request: kept, bytes: bytes)
  }
}
