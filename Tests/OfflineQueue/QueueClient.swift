import EKNetwork

/// Fills a queue in a folder and empties it at the same time, for a script that kills it at random moments.
///
/// `QueueClient FOLDER URL COUNT FIRST` prints `kept NUMBER` when `enqueue` has returned for a request, and `empty`
/// when all have been delivered. A count of 0 only delivers.
@main
enum QueueClient {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 5, let url = URL(string: arguments[2]), let count = Int(arguments[3]),
      let first = Int(arguments[4])
    else { exit(64) }
    var options = PrismOfflineQueueOptions()
    options.backoff = PrismLinearRetry(fixedDelay: .milliseconds(5))
    // The test covers the death of the process, not a power failure.
    options.synchronizes = false
    let manager = NetworkManager(baseURL: url, session: URLSession(configuration: .ephemeral))
    let queue = try PrismOfflineQueue(
      directory: URL(fileURLWithPath: arguments[1]), delivery: .manager(manager), options: options)
    guard queue.damagedFiles.isEmpty else { exit(3) }
    for number in first..<first + count {
      var request = URLRequest(url: url)
      request.httpMethod = "POST"
      request.httpBody = Data("\(number)".utf8)
      try await queue.enqueue(request, priority: number % 3)
      // One write per line, so that the script never reads a partial line.
      FileHandle.standardOutput.write(Data("kept \(number)\n".utf8))
    }
    while await queue.count > 0 { try? await queue.flush() }
    FileHandle.standardOutput.write(Data("empty\n".utf8))
  }
}
