import EKNetwork
import LoopbackServer

private struct Upload: NetworkRequest {
  typealias Response = [String: Int]
  let form: MultipartFormData
  let progress: NetworkProgress?
  let path = "/files"
  let method = HTTPMethod.post
  var multipartData: MultipartFormData? { form }
}

extension Step {
  static let upload = Step(
    title: "A file of 64 MiB in a form",
    code: """
      var form = MultipartFormData()
      form.addPart(name: "file", fileURL: clip, mimeType: "video/mp4")
      let progress = NetworkProgress()
      Task {
        for await part in progress.$fractionCompleted.values { show(part) }
      }
      try await manager.send(Upload(form: form, progress: progress))
      """
  ) { stage in
    let size = 64 * 1024 * 1024
    let clip = stage.folder.appendingPathComponent("clip.mp4")
    try Data(repeating: 0x2A, count: size).write(to: clip)
    var form = MultipartFormData()
    form.addPart(name: "file", fileURL: clip, mimeType: "video/mp4")
    stage.server.route("POST", "/files") { .json(["received": $0.body.count]) }
    let progress = NetworkProgress()
    let display = stage.terminal.follow(progress)
    let response = try await stage.manager().send(Upload(form: form, progress: progress), accessToken: nil)
    await display.value
    stage.showWire(stage.server.requests)
    try expect((response["received"] ?? 0) > size, "the server received \(response)")
    try expect(progress.fractionCompleted == 1, "the progress ended at \(progress.fractionCompleted)")
    return "\(response["received"] ?? 0) bytes arrived, and were never in memory as a whole"
  }
}
