@testable import EKNetwork
import Testing
@Test func smoke() async throws {
  let t = CurlTransport(configuration: .default)!
  let r = try await t.fetch(TransportRequest(URLRequest(url: URL(string: "http://127.0.0.1:8099/j")!)))
  print(r.head.statusCode as Any, String(decoding: r.data, as: UTF8.self), r.head.urlResponse)
  let clock = ContinuousClock()
  let d = try await clock.measure {
    for _ in 0..<1000 { _ = try await t.fetch(TransportRequest(URLRequest(url: URL(string: "http://127.0.0.1:8099/j")!))) }
  }
  print("1000:", d)
  let b = try await t.fetch(TransportRequest(URLRequest(url: URL(string: "http://127.0.0.1:8099/big")!)))
  print(b.data.count)
  var up = URLRequest(url: URL(string: "http://127.0.0.1:8099/j")!); up.httpMethod = "POST"; up.httpBody = Data(count: 100000)
  print(try await t.fetch(TransportRequest(up)).head.statusCode as Any)
  var hang = URLRequest(url: URL(string: "http://127.0.0.1:8099/j")!); hang.timeoutInterval = 0.2; hang.httpMethod = "POST"; hang.setValue("10", forHTTPHeaderField: "X-a")
  do { _ = try await t.fetch(TransportRequest(URLRequest(url: URL(string: "http://127.0.0.1:1/")!))) } catch { print(error) }
}
