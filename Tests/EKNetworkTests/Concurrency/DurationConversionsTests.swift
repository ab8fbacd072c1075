import Testing

@testable import EKNetwork

struct DurationConversionsTests {
  @Test func nanosecondsAreClamped() {
    let whole: Int64 = 18_446_744_073
    #expect(Duration.zero.clampedNanoseconds == 0)
    #expect(Duration.milliseconds(-1).clampedNanoseconds == 0)
    #expect(Duration.milliseconds(1_500).clampedNanoseconds == 1_500_000_000)
    for fraction in [0, 709_551_615, 709_551_616, 999_999_999] as [UInt64] {
      let duration = Duration(
        secondsComponent: whole, attosecondsComponent: Int64(fraction) * 1_000_000_000)
      #expect(duration.clampedNanoseconds >= UInt64(whole) * 1_000_000_000)
    }
    #expect(Duration.seconds(Int64.max).clampedNanoseconds == .max)
  }
}
