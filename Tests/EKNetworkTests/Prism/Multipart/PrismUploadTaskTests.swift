import LoopbackServer
import Testing

@testable import EKNetwork

@Suite(.timeLimit(.minutes(10))) struct PrismUploadTaskTests {
  private let server: LoopbackServer
  private let folder: ScratchFolder
  private let session: URLSession

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 600
    session = URLSession(configuration: configuration)
  }

  @Test func uploadReportsProgressAndResponse() async throws {
    server.route("POST", "/up") { _ in .text("thanks", status: 201) }
    let data = Data.noise(3_000_000)
    let task = PrismUploadTask(session: session, request: URLRequest(url: server.url("/up")), data: data)
    var seen: [PrismUploadProgress] = []
    for await progress in await task.upload() { seen.append(progress) }
    #expect(seen.first?.totalBytes == 3_000_000)
    #expect(seen.last == PrismUploadProgress(bytesUploaded: 3_000_000, totalBytes: 3_000_000))
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.bytesUploaded <= $1.bytesUploaded })
    let (body, response) = try await task.response()
    #expect(response.statusCode == 201)
    #expect(String(decoding: body, as: UTF8.self) == "thanks")
    // A finished task sends nothing a second time.
    for await progress in await task.upload() { #expect(progress.fractionCompleted == 1) }
    _ = try await task.response()
    #expect(server.requests.map(\.body) == [data])
  }

  @Test func sessionComesLastOrFirst() async throws {
    server.route("POST", "/up") { _ in .status(204) }
    let request = URLRequest(url: server.url("/up"))
    let (data, file) = (Data("data".utf8), try folder.file("b.bin", Data("file".utf8)))
    var form = PrismMultipartFormData()
    form.append(string: "form", name: "a")
    for task in [
      PrismUploadTask(request: request, data: data), PrismUploadTask(request: request, data: data, session: session),
      PrismUploadTask(session: session, request: request, data: data),
      PrismUploadTask(request: request, file: file), PrismUploadTask(request: request, file: file, session: session),
      PrismUploadTask(session: session, request: request, file: file),
      PrismUploadTask(request: request, form: form), PrismUploadTask(request: request, form: form, session: session),
      PrismUploadTask(session: session, request: request, form: form),
    ] { #expect(try await task.response().response.statusCode == 204) }
    let bodies = [data, Data("file".utf8), form.build().0]
    #expect(server.requests.map(\.body) == bodies.flatMap { [$0, $0, $0] })
  }

  @Test func taskLivesAsLongAsItsStream() async throws {
    server.route("POST", "/up") { _ in .status(204) }
    let request = URLRequest(url: server.url("/up"))
    let stream = await PrismUploadTask(session: session, request: request, data: Data(count: 100_000)).upload()
    var last: PrismUploadProgress?
    for await progress in stream { last = progress }
    #expect(last?.fractionCompleted == 1)
  }

  @Test func uploadsFormAndFile() async throws {
    server.fallback = { _ in .status(204) }
    let file = try folder.file("a.bin", Data.noise(300_000))
    var form = PrismMultipartFormData(boundary: "between-the-parts")
    form.append(file: file, name: "file", mimeType: "video/mp4")
    var request = URLRequest(url: server.url("/form"))
    _ = try await PrismUploadTask(session: session, request: request, form: form).response()
    request.httpMethod = "PUT"
    _ = try await PrismUploadTask(session: session, request: request, file: file).response()
    #expect(server.requests.map(\.body) == [form.build().0, Data.noise(300_000)])
    #expect(server.requests.map(\.method) == ["POST", "PUT"])
    #expect(server.requests[0].header("Content-Type") == form.contentType)
    #expect(server.requests[0].header("Content-Length") == String(form.build().0.count))
    let missing = PrismUploadTask(session: session, request: request, file: folder["none"])
    await #expect(throws: RequestBodyError.fileNotFound(folder["none"])) { _ = try await missing.response() }
  }

  /// The body is read when the upload starts, which may be long after the task was created.
  @Test func totalIsThatOfTheBodyThatIsSent() async throws {
    server.fallback = { _ in .status(204) }
    for (before, after) in [(10, 300_000), (300_000, 10), (300_000, 0), (0, 10)] {
      let file = try folder.file("changing.bin", Data.noise(before))
      let request = URLRequest(url: server.url("/file"))
      let task = PrismUploadTask(session: session, request: request, file: file)
      try Data.noise(after).write(to: file)
      var last: PrismUploadProgress?
      for await progress in await task.upload() { last = progress }
      #expect(last == PrismUploadProgress(bytesUploaded: Int64(after), totalBytes: Int64(after)))
      #expect(server.requests.last?.body.count == after)
    }
  }

  @Test func errorStatusEndsStreamAndIsThrown() async throws {
    server.route("POST", "/up") { _ in .text("too large", status: 413) }
    let task = PrismUploadTask(session: session, request: URLRequest(url: server.url("/up")), data: Data(count: 10))
    var last: PrismUploadProgress?
    for await progress in await task.upload() { last = progress }
    #expect(last != nil)
    // It has ended, and is not in progress.
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { _ = try await task.response() }
    #expect(error?.statusCode == 413)
  }

  @Test func cancellingEndsUpload() async throws {
    server.route("POST", "/up") { _ in .raw([.stall]) }
    let request = URLRequest(url: server.url("/up"))
    // Explicit cancellation.
    let named = PrismUploadTask(session: session, request: request, data: Data(count: 10))
    let waiting = Task { try await named.response() }
    await server.expectRequests(1)
    named.cancel()
    await #expect(throws: CancellationError.self) { _ = try await waiting.value }
    // The last waiter leaves.
    let left = PrismUploadTask(session: session, request: request, data: Data(count: 10))
    let leaving = Task { try await left.response() }
    await server.expectRequests(2)
    leaving.cancel()
    await #expect(throws: CancellationError.self) { _ = try await leaving.value }
    // The last progress listener leaves.
    let watched = PrismUploadTask(session: session, request: request, data: Data(count: 10))
    let watching = Task { for await _ in await watched.upload() {} }
    await server.expectRequests(3)
    watching.cancel()
    await watching.value
    #expect(await server.waitForOpenConnections(0))
    await #expect(throws: CancellationError.self) { _ = try await watched.response() }
  }
}
