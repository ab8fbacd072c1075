import Foundation
import Testing

@testable import EKNetwork

@Suite("Timeouts of an exchange")
struct ExchangeTimeoutsTests {
  private let start = ContinuousInstant.now

  @Test("Activity extends the idle timeout, but not the deadline")
  func activity() {
    var timeouts = TaskTimeouts(idle: .milliseconds(200), deadline: start + .seconds(1), now: start)
    #expect(timeouts.expiry == start + .milliseconds(200))
    timeouts.noteActivity(start + .milliseconds(150))
    #expect(timeouts.expiry == start + .milliseconds(350))
    timeouts.noteActivity(start + .milliseconds(900))
    #expect(timeouts.expiry == start + .seconds(1))
  }

  @Test("Without limits there is no expiry")
  func unlimited() {
    #expect(TaskTimeouts(idle: nil, deadline: nil, now: start).expiry == nil)
    #expect(TaskTimeouts(idle: nil, deadline: start, now: start).expiry == start)
  }

  @Test("A request's timeout overrides the session's if it is explicit or not the default")
  func idleTimeout() throws {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 7
    var request = HTTPRequest(url: try #require(URL(string: "http://127.0.0.1/")))
    #expect(request.idleTimeout(default: configuration.timeoutIntervalForRequest) == .seconds(7))
    request.timeoutInterval = 0.2
    #expect(request.idleTimeout(default: configuration.timeoutIntervalForRequest) == .milliseconds(200))
    // A timeout that is set explicitly counts, even if it equals the default.
    request.setOwnTimeout(60)
    #expect(try #require(request.idleTimeout(default: configuration.timeoutIntervalForRequest)) >= .seconds(60))
    #expect(abs(request.timeoutInterval - 60) < 1e-9)
    for unlimited in [0, -1, .infinity, .nan] {
      request.timeoutInterval = unlimited
      #expect(request.idleTimeout(default: configuration.timeoutIntervalForRequest) == nil)
    }
    request.timeoutInterval = .greatestFiniteMagnitude
    #expect(request.idleTimeout(default: configuration.timeoutIntervalForRequest) == .seconds(100 * 365 * 86_400))
  }
}
