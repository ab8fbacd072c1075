import EKNetwork

struct Get: NetworkRequest {
  typealias Response = StatusCodeResponse
  var path: String { "" }
  var method: HTTPMethod { .get }
}

/// Prints the status of the response to a GET: `Hello URL`.
@main
enum Hello {
  static func main() async {
    guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
      print("usage: Hello URL")
      exit(64)
    }
    do {
      print("status", try await NetworkManager(baseURL: url).send(Get()).statusCode)
    } catch {
      print("error", error.localizedDescription)
      exit(1)
    }
  }
}
