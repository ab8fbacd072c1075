import EKNetwork

/// The `--url` mode: one GET to a real server.
enum RealServer {
  private struct Get: NetworkRequest {
    typealias Response = StatusCodeResponse
    let path = ""
    let method = HTTPMethod.get
    let headers: [String: String]? = ["Accept": "*/*"]
    let timeout: Duration? = .seconds(15)
  }

  static func get(_ url: URL, _ terminal: Terminal) async -> Bool {
    let start = ContinuousClock.now
    do {
      let response = try await NetworkManager(baseURL: url).send(Get())
      report(response.statusCode, response.headers, start, terminal)
      return true
    } catch let error as HTTPError {
      report(error.statusCode, error.headers, start, terminal)
      return true
    } catch let error as URLError {
      terminal.line(terminal.styled("URLError \(error.code.rawValue): \(error.localizedDescription)", .red))
    } catch {
      terminal.line(terminal.styled("\(error)", .red))
    }
    return false
  }

  private static func report(
    _ status: Int, _ headers: [String: String], _ start: ContinuousClock.Instant, _ terminal: Terminal
  ) {
    let elapsed = Int((ContinuousClock.now - start) / .milliseconds(1))
    terminal.line(terminal.styled("status \(status), \(headers.count) header fields, \(elapsed) ms", .bold))
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) {
      terminal.line("  \(name): \(value.prefix(100))")
    }
  }
}
