import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The attempts of a request to which middleware has made changes.
struct ChangedAttempts: AttemptSource {
  let source: any AttemptSource
  let changes: RequestChanges

  var allowsRetry: Bool { source.allowsRetry }
  var makesNewBodies: Bool { source.makesNewBodies }
  func build() throws -> URLRequest { changes.applied(to: try source.build()) }
  func error(of refusal: CollectedResponse) -> any Error { source.error(of: refusal) }
  func failure(_ error: any Error, of urlRequest: URLRequest) -> any Error { source.failure(error, of: urlRequest) }
}
