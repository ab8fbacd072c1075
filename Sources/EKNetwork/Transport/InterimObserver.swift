import Dispatch
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Calls a request's closure with its interim responses, in order, on a queue of its own: an event loop must not wait for
/// it.
final class InterimObserver: Sendable {
  private let report: @Sendable (InterimResponse) -> Void
  private let queue = DispatchQueue(label: "EKNetwork.InterimResponse")

  init(_ report: @escaping @Sendable (InterimResponse) -> Void) { self.report = report }

  func received(_ head: RawHead) {
    pass(InterimResponse(statusCode: head.statusCode, headerFields: HeaderFieldList(head.fields)))
  }

  func received(_ response: HTTPURLResponse) {
    pass(
      InterimResponse(
        statusCode: response.statusCode,
        headerFields: HeaderFieldList(response.allHeaderFields as? [String: String])))
  }

  private func pass(_ response: InterimResponse) { queue.async { [report] in report(response) } }
}
