import EKNetwork

/// Uploads or downloads a file COUNT times, one after the other:
/// `Load eknetwork upload|form|sequence|download URL COUNT 0 FILE`.
///
/// A small transfer comes first as a warm-up, so that only the transfers contribute to memory growth.
struct Transfers: Sendable {
  private struct Put: NetworkRequest {
    typealias Response = StatusCodeResponse
    let path: String
    let method = HTTPMethod.put
    var body: RequestBody?
    var multipartData: MultipartFormData?
  }

  private struct Blocks: AsyncSequence, Sendable {
    let count: Int

    struct AsyncIterator: AsyncIteratorProtocol {
      var rest: Int
      private let block = Data(count: 256 * 1024)
      init(rest: Int) { self.rest = rest }
      mutating func next() async -> Data? {
        guard rest > 0 else { return nil }
        rest -= 1
        return block
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: count) }
  }

  let url: URL
  let file: URL

  func run(_ kind: String, count: Int) async throws -> Measurement? {
    let base = URL(string: "/", relativeTo: url)?.absoluteURL ?? url
    let manager = NetworkManager(baseURL: base, session: URLSession(configuration: .ephemeral))
    let size = (try? FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int) ?? 0
    let once: @Sendable () async throws -> Int
    switch kind {
    case "upload":
      once = {
        _ = try await manager.send(
          Put(path: url.path, body: RequestBody(file: file, contentType: "application/octet-stream")))
        return size
      }
    case "form":
      once = {
        var form = MultipartFormData()
        form.addPart(name: "file", fileURL: file, mimeType: "application/octet-stream")
        _ = try await manager.send(Put(path: url.path, multipartData: form))
        return size
      }
    case "sequence":
      let blocks = Blocks(count: size / (256 * 1024))
      once = {
        _ = try await manager.send(
          Put(path: url.path, body: RequestBody(sequence: blocks, contentType: "application/octet-stream")))
        return size
      }
    case "download":
      once = { Int(try await manager.download(Get(path: url.path), to: file).size) }
    default: return nil
    }
    let small = RequestBody(data: Data(count: 100_000), contentType: "application/octet-stream")
    if kind != "download" { _ = try await manager.send(Put(path: url.path, body: small)) }
    return try await Load.measure(width: 1, seconds: 0) { _ in
      var units = 0
      for _ in 0..<count { units += try await once() }
      return units
    }
  }
}
