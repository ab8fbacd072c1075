import BareCurl
import Foundation

/// The libcurl options used here, by their numbers in its ABI.
private enum Option {
  static let url: Int32 = 10002
  static let writefunction: Int32 = 20011
  static let cainfo: Int32 = 10065
  static let capath: Int32 = 10097
  static let nosignal: Int32 = 99
}

/// Measures bare libcurl on one thread with its own epoll, through the library's prototypes, as the upper bound.
/// `BareLoad URL WIDTH SECONDS [CA.pem]`; the output is that of `Load`.
@main struct BareLoad {
  static func main() {
    let arguments = CommandLine.arguments
    guard arguments.count >= 4, let width = Int(arguments[2]), let seconds = Double(arguments[3]),
      ekn_curl_load(), let loop = Loop(url: arguments[1], authorities: arguments.count > 4 ? arguments[4] : nil)
    else { exit(64) }
    loop.run(width: width, seconds: min(0.5, seconds / 4))
    let start = (clock: ContinuousClock.now, cpu: cpuSeconds, count: loop.finished)
    loop.run(width: width, seconds: seconds)
    let count = Double(loop.finished - start.count)
    let rate = count / ((ContinuousClock.now - start.clock) / .seconds(1))
    print("{\"perSecond\":\(rate),\"cpuMicroseconds\":\((cpuSeconds - start.cpu) * 1e6 / count),\"peakMegabytes\":0}")
  }

  private static var cpuSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }
}

final class Loop {
  private let multi: OpaquePointer
  private let url: String
  private let authorities: String?
  private var poller: Int32 = -1
  private var waker: Int32 = -1
  private var isTimerSet = true
  private(set) var finished = 0

  init?(url: String, authorities: String?) {
    guard let multi = ekn_multi_init(), ekn_poller_open(&poller, &waker, .max) else { return nil }
    self.multi = multi
    self.url = url
    self.authorities = authorities
    let context = Unmanaged.passUnretained(self).toOpaque()
    _ = ekn_multi_set_socket_callback(
      multi,
      { _, socket, what, context, _ in
        guard let context else { return 0 }
        ekn_poller_watch(
          Unmanaged<Loop>.fromOpaque(context).takeUnretainedValue().poller, socket, what, UInt64(socket))
        return 0
      }, context)
    _ = ekn_multi_set_timer_callback(
      multi,
      { _, milliseconds, context in
        guard let context else { return 0 }
        Unmanaged<Loop>.fromOpaque(context).takeUnretainedValue().isTimerSet = milliseconds == 0
        return 0
      }, context)
    _ = ekn_multi_set_long(multi, Int32(EKN_MOPT_MAXCONNECTS), 256)
  }

  private func prepare(_ easy: OpaquePointer) {
    ekn_easy_reset(easy)
    _ = ekn_easy_set_long(easy, Option.nosignal, 1)
    _ = ekn_easy_set_string(easy, Option.url, url)
    if let authorities { _ = ekn_easy_set_string(easy, Option.cainfo, authorities) }
    _ = ekn_easy_set_pointer(easy, Option.capath, nil)
    _ = ekn_easy_set_data_callback(easy, Option.writefunction) { _, size, count, _ in size * count }
  }

  func run(width: Int, seconds: Double) {
    let end = ContinuousClock.now + .seconds(seconds)
    var active = 0
    for _ in 0..<width {
      guard let easy = ekn_easy_init() else { continue }
      prepare(easy)
      _ = ekn_multi_add(multi, easy)
      active += 1
    }
    var running: Int32 = 0
    var ready = [ekn_ready](repeating: ekn_ready(), count: 256)
    while active > 0 {
      if isTimerSet {
        isTimerSet = false
        _ = ekn_multi_socket_action(multi, Int32(EKN_SOCKET_TIMEOUT), 0, &running)
      }
      while true {
        let completion = ekn_multi_next_completion(multi)
        guard let easy = completion.easy else { break }
        _ = ekn_multi_remove(multi, easy)
        guard completion.code == 0 else { exit(1) }
        finished += 1
        if .now < end {
          prepare(easy)
          _ = ekn_multi_add(multi, easy)
        } else {
          ekn_easy_cleanup(easy)
          active -= 1
        }
      }
      if active == 0 { break }
      let count = ekn_poller_wait(poller, &ready, 256, isTimerSet ? 0 : 100)
      for event in ready[..<Int(max(0, count))] {
        _ = ekn_multi_socket_action(multi, Int32(truncatingIfNeeded: event.tag), event.events, &running)
      }
    }
  }
}
