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
    title: "A multipart upload of 64 MB",
    code: """
      var form = MultipartFormData()
      form.addPart(name: "file", data: data, mimeType: "video/mp4", filename: "clip.mp4")
      let progress = NetworkProgress()
      Task { for await fraction in progress.$fractionCompleted.values { show(fraction) } }
      try await manager.send(Upload(form: form, progress: progress), accessToken: nil)
      """
  ) { stage in
    let size = 64 * 1024 * 1024
    var form = MultipartFormData()
    form.addPart(name: "file", data: Data(repeating: 0x2A, count: size), mimeType: "video/mp4", filename: "clip.mp4")
    stage.server.route("POST", "/files") { .json(["received": $0.body.count]) }
    let progress = NetworkProgress()
    let terminal = stage.terminal
    let display = Task {
      var shown = 0
      for await fraction in progress.$fractionCompleted.values {
        if terminal.isInteractive {
          terminal.replaceLine("  " + bar(fraction))
        } else if Int(fraction * 4) > shown {
          shown = Int(fraction * 4)
          terminal.line("  " + bar(fraction))
        }
        if fraction >= 1 { break }
      }
    }
    let answer = try await stage.manager().send(Upload(form: form, progress: progress), accessToken: nil)
    await display.value
    if terminal.isInteractive { terminal.endReplacedLine("  " + bar(progress.fractionCompleted)) }
    stage.showWire(stage.server.requests)
    try expect((answer["received"] ?? 0) > size, "the server received \(answer)")
    try expect(progress.fractionCompleted == 1, "the progress ended at \(progress.fractionCompleted)")
    return "\(answer["received"] ?? 0) bytes arrived"
  }
}

private func bar(_ fraction: Double) -> String {
  let width = 40
  let full = Int(fraction * Double(width))
  let percent = "\(Int(fraction * 100)) %"
  return "[" + String(repeating: "█", count: full) + String(repeating: "·", count: width - full) + "] " + percent
}
