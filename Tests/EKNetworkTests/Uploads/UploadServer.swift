import Foundation
import LoopbackServer

@testable import EKNetwork

/// A server of both upload protocols on the loopback interface, whose connections break where a test wants, and whose
/// responses a test can replace.
final class UploadServer: Sendable {
  struct Upload {
    var data = Data()
    var length: Int
    var isComplete = false
  }

  struct State {
    var uploads: [String: Upload] = [:]
    /// The next PATCH requests end with their connection after so many bytes of their bodies, unless it is `nil`.
    var cuts: [Int?] = []
    /// Replaces the response to a request.
    var override: (@Sendable (LoopbackServer.Request) -> LoopbackServer.Response?)?
    var limits: String?
    /// The number of recorded requests of which those that were cut are appended.
    var absorbed = 0
    var created = 0
    /// The number of bytes of all PATCH requests.
    var received = 0
  }

  let server: LoopbackServer
  let state = Locked(State())

  init(_ kind: UploadOptions.ResumptionProtocol) throws {
    server = try LoopbackServer()
    let state = state
    server.route("/files") { [weak server] request in
      Self.respond(to: request, kind, state, server)
    }
    server.route(
      "/files/*",
      onHead: { request in
        guard request.method == "PATCH" else { return .readBody }
        let cut = state.withLock { $0.cuts.isEmpty ? nil : $0.cuts.removeFirst() }
        return cut.map { .steps([.read(total: $0), .close]) } ?? .readBody
      }
    ) { [weak server] request in
      Self.respond(to: request, kind, state, server)
    }
  }

  deinit { server.stop() }

  var data: Data? { state.withLock { $0.uploads["\($0.created)"]?.data } }
  var isComplete: Bool { state.withLock { $0.uploads["\($0.created)"]?.isComplete ?? false } }
  var received: Int { state.withLock { $0.received } }
  var methods: [String] { server.requests.map(\.method) }

  private static func respond(
    to request: LoopbackServer.Request, _ kind: UploadOptions.ResumptionProtocol, _ state: Locked<State>,
    _ server: LoopbackServer?
  ) -> LoopbackServer.Response {
    let requests = server?.requests ?? []
    let override = state.withLock { state in
      state.absorb(requests)
      return state.override
    }
    if let response = override?(request) { return response }
    return state.withLock { $0.respond(request, kind) }
  }
}

extension UploadServer.State {
  /// Appends what was received of requests that were cut.
  mutating func absorb(_ requests: [LoopbackServer.Request]) {
    for request in requests[absorbed...] where request.method == "PATCH" && !request.isComplete {
      append(request)
    }
    absorbed = requests.count
  }

  private mutating func append(_ request: LoopbackServer.Request) {
    let id = String(request.path.dropFirst("/files/".count))
    uploads[id]?.data += request.body
    received += request.body.count
  }

  mutating func respond(
    _ request: LoopbackServer.Request, _ kind: UploadOptions.ResumptionProtocol
  ) -> LoopbackServer.Response {
    let version = kind == .tus ? request.headers["Tus-Resumable"] : request.headers["Upload-Draft-Interop-Version"]
    guard version == (kind == .tus ? "1.0.0" : "8") else { return .status(412) }
    if request.method == "POST" {
      guard let length = request.headers["Upload-Length"].flatMap({ Int($0) }), request.body.isEmpty,
        kind == .tus || request.headers["Upload-Complete"] == "?0"
      else { return .status(400) }
      created += 1
      uploads["\(created)"] = UploadServer.Upload(length: length, isComplete: kind == .tus && length == 0)
      let response = LoopbackServer.Response.status(201, headers: ["Location": "/files/\(created)"])
      return limits.map { response.header("Upload-Limit", $0) } ?? response
    }
    let id = String(request.path.dropFirst("/files/".count))
    guard let upload = uploads[id] else { return .status(404) }
    switch request.method {
    case "HEAD": return described(upload, kind, status: kind == .tus ? 200 : 204)
    case "DELETE":
      uploads[id] = nil
      return .status(204)
    case "PATCH":
      let type = kind == .tus ? "application/offset+octet-stream" : "application/partial-upload"
      guard request.headers["Content-Type"] == type else { return .status(415) }
      guard request.headers["Upload-Offset"] == "\(upload.data.count)" else {
        return described(upload, kind, status: 409)
      }
      append(request)
      let isFull = uploads[id]?.data.count == upload.length
      uploads[id]?.isComplete = isFull && (kind == .tus || request.headers["Upload-Complete"] == "?1")
      guard let appended = uploads[id] else { return .status(404) }
      if kind == .draft, appended.isComplete {
        return .json(#"{"id":42}"#, headers: ["Upload-Complete": "?1"])
      }
      return described(appended, kind, status: 204)
    default: return .status(405)
    }
  }

  private func described(
    _ upload: UploadServer.Upload, _ kind: UploadOptions.ResumptionProtocol, status: Int
  ) -> LoopbackServer.Response {
    let response = LoopbackServer.Response.status(status)
      .header("Upload-Offset", "\(upload.data.count)").header("Upload-Length", "\(upload.length)")
    return kind == .tus ? response : response.header("Upload-Complete", upload.isComplete ? "?1" : "?0")
  }
}

struct CreateUpload: NetworkRequest {
  typealias Response = EmptyResponse
  var path = "/files"
  var method = HTTPMethod.post
  var headers: [String: String]?
  var progress: NetworkProgress?
  var retryPolicy = RetryPolicy()
  var body: RequestBody?
  var credential: PasswordCredential?
}

extension RetryPolicy {
  static func immediate(_ count: Int) -> RetryPolicy { RetryPolicy(maxRetryCount: count, delay: 0) }
}
