import Foundation

/// The result of one run.
struct Measurement: Encodable {
  var perSecond: Double
  var cpuMicroseconds: Double
  var peakMegabytes: Double
  /// The growth of peak memory during the run.
  var growthMegabytes: Double

  struct Start {
    private let clock = ContinuousClock.now
    private let cpu = Measurement.cpuSeconds
    private let peak = Measurement.peakMegabytes

    func measured(_ units: Int) -> Measurement {
      let seconds = (ContinuousClock.now - clock) / .seconds(1)
      return Measurement(
        perSecond: Double(units) / seconds,
        cpuMicroseconds: (Measurement.cpuSeconds - cpu) * 1e6 / Double(max(1, units)),
        peakMegabytes: Measurement.peakMegabytes, growthMegabytes: Measurement.peakMegabytes - peak)
    }
  }

  func report() throws {
    print(String(decoding: try JSONEncoder().encode(self), as: UTF8.self))
  }

  static var cpuSeconds: Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
  }

  static var peakMegabytes: Double { megabytes("VmHWM:") }

  /// Returns a value from `/proc/self/status`, in MiB.
  static func megabytes(_ name: String) -> Double {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(name) } ?? ""
    return (line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
  }
}
