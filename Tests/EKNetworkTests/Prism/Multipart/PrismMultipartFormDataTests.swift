import LoopbackServer
import Testing

@testable import EKNetwork

struct PrismMultipartFormDataTests {
  @Test func buildsDocumentedForm() {
    var form = PrismMultipartFormData(boundary: "b")
    form.append(string: "Holidays", name: "title")
    form.append(data: Data([1, 2]), name: "file", fileName: "a.bin", mimeType: "application/octet-stream")
    let (body, contentType) = form.build()
    #expect(contentType == "multipart/form-data; boundary=b")
    let expected =
      "--b\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\nHolidays\r\n"
      + "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.bin\"\r\n"
      + "Content-Type: application/octet-stream\r\n\r\n\u{1}\u{2}\r\n--b--\r\n"
    #expect(String(decoding: body, as: UTF8.self) == expected)
  }

  @Test(arguments: [
    "a\"; filename=\"evil", "a\r\nX-Evil: 1\r\n\r\n", "a\n--b--", "\u{0}", "back\\slash",
  ])
  func namesDoNotEscapeTheirLine(_ name: String) {
    var form = PrismMultipartFormData(boundary: "b")
    form.append(data: Data(), name: name, fileName: name, mimeType: "text/plain\r\nX-Evil: 1")
    let text = String(decoding: form.build().0, as: UTF8.self)
    let lines = text.components(separatedBy: "\r\n")
    #expect(lines.count == 7)
    #expect(lines[1].hasPrefix("Content-Disposition: form-data; name=\""))
    let unquoted = lines[1].replacing(/\\./, with: "")
    #expect(unquoted.filter { $0 == "\"" }.count == 4)
    #expect(lines[2] == "Content-Type: application/octet-stream")
    #expect(!text.contains("\nX-Evil"))
  }

  @Test func invalidBoundaryIsReplaced() {
    #expect(PrismMultipartFormData(boundary: "a:b").contentType == "multipart/form-data; boundary=\"a:b\"")
    for bad in ["", "a\r\nb", "ä", "a ", "a\"b", String(repeating: "a", count: 71)] {
      #expect(UUID(uuidString: String(PrismMultipartFormData(boundary: bad).contentType.suffix(36))) != nil)
    }
    var form = PrismMultipartFormData(boundary: "inside")
    form.append(string: "the boundary is inside", name: "a")
    #expect(!form.contentType.contains("inside"))
    #expect(PrismMultipartFormData().contentType != PrismMultipartFormData().contentType)
  }

  /// The file is not searched for the boundary, and its author may know a fixed one.
  @Test func fileMakesBoundaryRandom() {
    let uuid = "3F2504E0-4F89-41D3-9A0C-0305E82C3301"
    for chosen in ["b", String(repeating: "a", count: 70), "a b c", uuid, "Boundary-" + uuid] {
      var form = PrismMultipartFormData(boundary: chosen)
      form.append(file: URL(fileURLWithPath: "/a"), name: "a", mimeType: "a/b")
      let boundary = form.form.boundary
      #expect(UUID(uuidString: String(boundary.suffix(36))) != nil && !boundary.hasSuffix(uuid))
      #expect(boundary.utf8.count <= 70 && boundary.first == chosen.first)
      form.append(file: URL(fileURLWithPath: "/a"), name: "a", mimeType: "a/b")
      #expect(form.form.boundary == boundary)
    }
  }

  @Test func nestedFormIsNotEncodable() {
    #expect(throws: EncodingError.self) { _ = try JSONEncoder().encode(["form": PrismMultipartFormData()]) }
  }

  @Test func progress() {
    #expect(PrismUploadProgress(bytesUploaded: 0, totalBytes: 0).fractionCompleted == 0)
    #expect(PrismUploadProgress(bytesUploaded: 5, totalBytes: 0).fractionCompleted == 0)
    #expect(PrismUploadProgress(bytesUploaded: 1, totalBytes: 4).fractionCompleted == 0.25)
    #expect(PrismUploadProgress(bytesUploaded: 9, totalBytes: 4).fractionCompleted == 1)
  }
}

@Suite(.timeLimit(.minutes(10))) struct MultipartOnTheWireTests {
  private struct FormEndpoint: PrismNetworkEndpoint {
    var scheme: PrismNetworkScheme { .http }
    var host: String { "127.0.0.1" }
    var port: Int?
    var path: String { "/form" }
    var method: PrismNetworkMethod { .post }
    var headers: [String: String] = [:]
    var form: PrismMultipartFormData
    var body: (any Encodable)? { form }
  }

  private struct FormRequest: PrismNetworkRequest {
    typealias Response = EmptyResponse
    let endpoint: FormEndpoint
  }

  private let server: LoopbackServer
  private let folder: ScratchFolder

  init() throws {
    server = try LoopbackServer()
    folder = try ScratchFolder()
  }

  @Test func formIsSentAgainOnRetryAndRedirect() async throws {
    server.route("POST", "/form", .status(503), .redirect(to: "/there", status: 307))
    server.route("POST", "/there") { _ in .status(204) }
    let content = Data.noise(600_000)
    var form = PrismMultipartFormData(boundary: "between-the-parts")
    form.append(string: "x", name: "title")
    form.append(file: try folder.file("a.bin", content), name: "file", mimeType: "video/mp4")
    let client = PrismNetworkAdapter.forTests(retryPolicy: PrismLinearRetry(fixedDelay: .zero))
    let endpoint = FormEndpoint(port: server.port, headers: ["Content-Type": "multipart/form-data"], form: form)
    _ = try await client.request(on: FormRequest(endpoint: endpoint))
    let (whole, contentType) = form.build()
    // Sent again after the failure, and again after the redirect.
    #expect(server.requests.map(\.body) == [whole, whole, whole])
    #expect(server.requests.allSatisfy { $0.header("Content-Type") == contentType })
    #expect(server.requests.allSatisfy { $0.header("Content-Length") == String(whole.count) })
  }

  @Test func missingFileIsBadRequest() async throws {
    var form = PrismMultipartFormData()
    form.append(file: folder["none"], name: "file", mimeType: "video/mp4")
    let request = FormRequest(endpoint: FormEndpoint(port: server.port, form: form))
    let failure = await #expect(throws: PrismNetworkFailure.self) {
      try await PrismNetworkFailure.detailed { try await PrismNetworkAdapter.forTests().request(on: request) }
    }
    #expect(failure?.error == .badRequest)
    #expect(failure?.underlyingError as? RequestBodyError == .fileNotFound(folder["none"]))
    #expect(form.build().0.isEmpty)
    #expect(server.requestCount == 0)
  }
}
