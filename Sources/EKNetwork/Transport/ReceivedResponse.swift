import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking

  /// A Foundation response that keeps what Foundation's dictionary loses: the order of the fields, and repeated ones. Not on
  /// Apple's platforms, where `URLSession` receives the responses, and its own classes may not expect a subclass.
  final class ReceivedResponse: HTTPURLResponse, @unchecked Sendable {
    let head: RawHead

    init?(_ head: RawHead) {
      self.head = head
      super.init(
        url: head.url, statusCode: head.statusCode, httpVersion: head.version, headerFields: head.joinedFields)
    }

    /// It is archived as what it inherits from.
    required init?(coder: NSCoder) { nil }
    override var classForCoder: AnyClass { HTTPURLResponse.self }
  }
#endif

extension HTTPURLResponse {
  /// Creates the response for a head.
  static func received(_ head: RawHead) -> HTTPURLResponse? {
    #if canImport(FoundationNetworking)
      return ReceivedResponse(head)
    #else
      return HTTPURLResponse(
        url: head.url, statusCode: head.statusCode, httpVersion: head.version, headerFields: head.joinedFields)
    #endif
  }
}

extension HeaderFieldList {
  /// Creates a list of the fields of a response, as they were received if the library has received it, on Linux.
  public init(_ response: HTTPURLResponse) {
    #if canImport(FoundationNetworking)
      if let received = response as? ReceivedResponse {
        self.init(received.head.fields)
        return
      }
    #endif
    self.init(response.headerDictionary)
  }
}
