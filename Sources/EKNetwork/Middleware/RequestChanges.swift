import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The changes that middleware around a call has made to its request, which are applied to each attempt, as it is built
/// from the caller's own request. Unchanged fields stay those of the attempt, including a new token.
struct RequestChanges: Sendable {
  private let before: URLRequest
  private let after: URLRequest
  private let options: (before: RequestOptions, after: RequestOptions)
  private var fields: [(name: String, value: String?)] = []
  /// Whether the changed request goes to another origin.
  let leavesOrigin: Bool

  init(from before: URLRequest, to after: URLRequest) {
    self.before = before
    self.after = after
    options = (RequestOptions(before), RequestOptions(after))
    leavesOrigin = before.url.flatMap({ Origin($0) }) != after.url.flatMap({ Origin($0) })
    let (old, new) = (before.allHTTPHeaderFields ?? [:], after.allHTTPHeaderFields ?? [:])
    for name in old.keys where after.value(forHTTPHeaderField: name) == nil { fields.append((name, nil)) }
    for (name, value) in new where before.value(forHTTPHeaderField: name) != value { fields.append((name, value)) }
  }

  /// Whether the changed request has a body of its own.
  var replacesBody: Bool { before.httpBodyStream !== after.httpBodyStream || before.httpBody != after.httpBody }

  func applied(to request: URLRequest) -> URLRequest {
    var request = request
    if before.url != after.url { request.url = after.url }
    if before.httpMethod != after.httpMethod { request.httpMethod = after.httpMethod }
    if before.timeoutInterval != after.timeoutInterval { request.timeoutInterval = after.timeoutInterval }
    if options.before != options.after { options.after.apply(to: &request) }
    if before.httpShouldHandleCookies != after.httpShouldHandleCookies {
      request.httpShouldHandleCookies = after.httpShouldHandleCookies
    }
    if before.httpBodyStream !== after.httpBodyStream {
      request.httpBodyStream = after.httpBodyStream
    }
    if after.httpBodyStream == nil, before.httpBody != after.httpBody || before.httpBodyStream != nil {
      request.httpBody = after.httpBody
    }
    // Credentials of the attempt are meant for its own origin. Those that middleware has set are sent.
    if leavesOrigin { request.removeOriginFields() }
    // All at once: the setter for one field silently drops an invalid value.
    var all = request.allHTTPHeaderFields ?? [:]
    for (name, value) in fields {
      for old in all.keys where old.lowercased() == name.lowercased() { all[old] = nil }
      all[name] = value
    }
    request.allHTTPHeaderFields = all
    return request
  }
}
