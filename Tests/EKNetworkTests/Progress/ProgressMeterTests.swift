import Testing

@testable import EKNetwork

struct ProgressMeterTests {
  private enum Event {
    case sent(Int64, Int64?)
    case received(Int64, Int64?)
    case restarted
    case succeeded
  }

  /// The published fractions, with the events far enough apart for none to be throttled.
  private func published(_ events: [Event]) -> [Double] {
    var fractions: [Double] = []
    for update in updates(events) where update.fraction != fractions.last ?? 0 { fractions.append(update.fraction) }
    return fractions
  }

  private func updates(_ events: [Event]) -> [ProgressUpdate] {
    var meter = ProgressMeter()
    var now = ContinuousClock.now
    return events.compactMap { event in
      now += .seconds(1)
      let action: ProgressMeter.Action
      switch event {
      case .sent(let bytes, let total): action = meter.sent(bytes, of: total, at: now)
      case .received(let bytes, let total): action = meter.received(bytes, of: total, at: now)
      case .restarted:
        meter.restarted()
        action = .none
      case .succeeded: action = meter.succeeded()
      }
      if case .publish(let update) = action { return update }
      return nil
    }
  }

  private let big: Int64 = 1 << 20

  @Test func downloadDeterminesFraction() {
    #expect(published([.received(25, 100), .received(50, 100), .received(100, 100), .succeeded]) == [0.25, 0.5, 1])
  }

  @Test func largeUploadDeterminesFraction() {
    let events: [Event] = [.sent(big / 4, big), .sent(big / 2, big), .sent(big, big), .received(9, nil), .succeeded]
    #expect(published(events) == [0.25, 0.5, 0.99, 1])
  }

  @Test func downloadOfKnownLengthIsAddedToUpload() {
    let events: [Event] = [
      .sent(big / 2, big), .sent(big, big), .received(big, 3 * big), .received(2 * big, 3 * big),
      .received(3 * big, 3 * big), .succeeded,
    ]
    // The upload has used up the scale already: the rest cannot show the whole download.
    #expect(published(events) == [0.5, 0.99, 1])
    #expect(published([.received(0, 3 * big), .sent(big, big), .received(big, 3 * big)]) == [0.25, 0.5])
  }

  @Test func smallBodyIsNotReported() {
    let small = ProgressMeter.leadingBodyLength - 1
    #expect(published([.sent(small, small), .received(1, 2), .succeeded]) == [0.5, 1])
    #expect(published([.sent(small, small), .succeeded]) == [1])
    #expect(published([.sent(small + 1, small + 1)]) == [0.99])
  }

  @Test func uploadOfUnknownLengthLeavesFractionToDownload() {
    #expect(published([.sent(big, nil), .sent(2 * big, nil), .received(1, 4), .succeeded]) == [0.25, 1])
  }

  @Test func fractionNeverDecreases() {
    let events: [Event] = [
      .sent(big / 2, big), .restarted, .sent(0, big), .sent(big / 4, big), .sent(3 * (big / 4), big), .sent(1, big),
      .restarted, .received(1, 10), .succeeded, .restarted, .sent(1, big), .received(1, 10), .succeeded,
    ]
    #expect(published(events) == [0.5, 0.75, 1])
  }

  @Test func failedAttemptDoesNotUseUpScale() {
    #expect(published([.received(20, 20), .restarted, .received(1, 4), .succeeded]) == [0.25, 1])
    var meter = ProgressMeter()
    let start = ContinuousClock.now
    #expect(meter.received(1, of: 100, at: start).fraction == 0.01)
    #expect(meter.received(50, of: 100, at: start) == .flush(after: ProgressMeter.interval))
    #expect(meter.received(100, of: 100, at: start) == .none)
    #expect(meter.flush(at: start + .seconds(1)) == .none)
  }

  @Test func falseLengthDoesNotBreakFraction() {
    let most = Int64.max
    for total in [nil, 0, -1, Int64.min] as [Int64?] {
      #expect(published([.received(1, total), .received(most, total), .succeeded]) == [1])
      #expect(published([.sent(1, total), .sent(most, total), .succeeded]) == [1])
    }
    #expect(published([.received(5, 10), .received(500, 10), .succeeded]) == [0.5, 1])
    #expect(published([.sent(2 * big, big), .succeeded]) == [0.99, 1])
    #expect(published([.sent(-5, big), .received(.min, 10), .succeeded]) == [1])
    #expect(published([.received(0, most), .sent(most, most), .received(most, most), .succeeded]) == [0.5, 1])
    #expect(published([.succeeded, .succeeded]) == [1])
  }

  @Test func fractionStaysBelowOneUntilSuccess() {
    let numbers: [Int64] = [.min, -1, 0, 1, 65_535, 65_536, 1 << 40, .max]
    var events: [Event] = []
    for bytes in numbers {
      for total in numbers { events += [.sent(bytes, total), .received(bytes, total), .restarted] }
    }
    let fractions = published(events)
    #expect(fractions == fractions.sorted())
    #expect(fractions.allSatisfy { $0 > 0 && $0 < 1 })
    #expect(published(events + [.succeeded]).last == 1)
  }

  @Test func throttlesReportsButPublishesLast() {
    var meter = ProgressMeter()
    let start = ContinuousClock.now
    var count = 0
    var flushAt: ContinuousClock.Instant?
    var last = 0.0
    for step in 1...10_000 {
      let now = start + .microseconds(100 * step)
      var actions: [ProgressMeter.Action] = []
      if let due = flushAt, due <= now {
        flushAt = nil
        actions.append(meter.flush(at: now))
      }
      actions.append(meter.received(Int64(step), of: 100_000, at: now))
      for action in actions {
        switch action {
        case .none: break
        case .publish(let update):
          #expect(update.fraction > last)
          last = update.fraction
          count += 1
        case .flush(let delay):
          #expect(flushAt == nil)
          #expect(delay > .zero && delay <= ProgressMeter.interval)
          flushAt = now + delay
        }
      }
    }
    #expect(count <= 31)
    #expect(count >= 29)
    #expect(flushAt != nil)
    #expect(meter.flush(at: start + .seconds(2)).fraction == 0.1)
    #expect(meter.flush(at: start + .seconds(3)) == .none)
  }

  @Test func successIsPublishedAtOnce() {
    var meter = ProgressMeter()
    let start = ContinuousClock.now
    #expect(meter.received(1, of: 4, at: start).fraction == 0.25)
    #expect(meter.received(2, of: 4, at: start) == .flush(after: ProgressMeter.interval))
    #expect(meter.received(3, of: 4, at: start) == .none)
    #expect(meter.succeeded().fraction == 1)
    #expect(meter.flush(at: start + .seconds(1)) == .none)
  }

  @Test func clockJumpingBackIsTolerated() {
    var meter = ProgressMeter()
    let start = ContinuousClock.now
    #expect(meter.received(1, of: 4, at: start).fraction == 0.25)
    #expect(meter.received(2, of: 4, at: start - .seconds(3600)) == .flush(after: ProgressMeter.interval))
  }

  // MARK: - Bytes

  @Test func bytesFollowDirectionOfFraction() {
    let download = updates([.received(25, 100), .received(50, 100), .received(100, 100), .succeeded])
    #expect(download.map(\.completedBytes) == [25, 50, 100])
    #expect(download.map(\.totalBytes) == [100, 100, 100])
    let upload = updates([.sent(big / 2, big), .sent(big, big), .received(9, nil), .succeeded])
    #expect(upload.map(\.completedBytes) == [big / 2, big, big])
    #expect(upload.map(\.totalBytes) == [big, big, big])
    let both = updates([.received(0, 10), .sent(big, big), .received(5, 10), .succeeded])
    #expect(both.map(\.completedBytes) == [big, big + 5, big + 5])
    #expect(both.map(\.totalBytes) == [big + 10, big + 10, big + 5])
  }

  @Test func bytesAreCountedWithoutKnownLength() {
    let download = updates([.received(5, nil), .received(9, -1), .succeeded])
    #expect(download.map(\.completedBytes) == [5, 9, 9])
    #expect(download.map(\.totalBytes) == [nil, nil, 9])
    #expect(download.map(\.fraction) == [0, 0, 1])
    let upload = updates([.sent(big, nil), .sent(2 * big, nil), .succeeded])
    #expect(upload.map(\.completedBytes) == [big, 2 * big, 2 * big])
  }

  @Test func bytesAtTheEndAreThoseOfTheLastAttempt() {
    let download = updates([.received(80, 100), .restarted, .received(10, 10), .succeeded])
    #expect(download.map(\.completedBytes) == [80, 10])
    #expect(download.map(\.totalBytes) == [100, 10])
  }

  /// The bytes of an earlier attempt, which do not go backwards, are not more than those of the whole.
  @Test func totalIsNotExceeded() {
    let download = updates([.received(900, 1_000), .restarted, .received(480, 500), .succeeded])
    #expect(download.map(\.completedBytes) == [900, 900, 480])
    #expect(download.map(\.totalBytes) == [1_000, nil, 480])
  }

  /// Reports may arrive out of order: one that is late does not replace the end.
  @Test func nothingReplacesTheEnd() {
    var update = ProgressUpdate(fraction: 0.5, completedBytes: 80)
    update.advance(to: ProgressUpdate(fraction: 0.75, completedBytes: 70))
    #expect(update.completedBytes == 80)
    update.advance(to: ProgressUpdate(fraction: 1, completedBytes: 10))
    #expect(update.completedBytes == 10)
    update.advance(to: ProgressUpdate(fraction: 0.9, completedBytes: 90))
    #expect(update == ProgressUpdate(fraction: 1, completedBytes: 10))
  }

  @Test func rateAdaptsAndIgnoresRetries() throws {
    let steady = updates((1...20).map { .received($0 * 1_000, 100_000) })
    #expect(steady.first?.bytesPerSecond == nil)
    #expect(steady.dropFirst().allSatisfy { $0.bytesPerSecond == 1_000 })
    let slower = updates(
      (1...20).map { .received($0 * 1_000, .max) } + (1...20).map { .received(20_000 + $0 * 10, .max) })
    let last = try #require(slower.last?.bytesPerSecond)
    #expect(last > 10 && last < 11)
    let again = updates([
      .received(1_000, 9_000), .received(2_000, 9_000), .restarted, .received(100, 9_000), .received(3_000, 9_000),
    ])
    #expect(again.last?.bytesPerSecond.map { $0 > 1_000 && $0 < 2_900 } == true)
  }
}

extension ProgressMeter.Action {
  fileprivate var fraction: Double? {
    if case .publish(let update) = self { update.fraction } else { nil }
  }
}
