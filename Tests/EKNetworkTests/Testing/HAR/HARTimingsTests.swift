import Testing

@testable import EKNetwork

struct HARTimingsTests {
  @Test func phasesAddUpToTime() {
    let network = NetworkTimings(
      nameLookup: .milliseconds(10), connect: .milliseconds(20), secureConnect: .milliseconds(30),
      firstByte: .milliseconds(100), total: .milliseconds(150))
    let timings = HARTimings(head: .milliseconds(105), total: .milliseconds(400), network: network)
    #expect(timings.blocked == 5 && timings.dns == 10 && timings.connect == 50 && timings.ssl == 30)
    #expect(timings.send == 0 && timings.wait == 40 && timings.receive == 50)
    #expect(timings.time == 155)
  }

  @Test func reusedConnectionHasNoConnectPhases() {
    let network = NetworkTimings(firstByte: .microseconds(1500), total: .milliseconds(2), isConnectionReused: true)
    let timings = HARTimings(head: .milliseconds(1), total: .milliseconds(2), network: network)
    #expect(timings.dns == nil && timings.connect == nil && timings.ssl == nil)
    // An earlier reading of the clock makes no phase negative.
    #expect(timings.blocked == 0 && timings.wait == 1.5 && timings.receive == 0.5)
  }

  @Test func clockIsUsedWithoutNetworkTimings() {
    let timings = HARTimings(head: .milliseconds(3), total: .milliseconds(5), network: nil)
    #expect(timings.blocked == nil && timings.wait == 3 && timings.receive == 2 && timings.time == 5)
  }
}
