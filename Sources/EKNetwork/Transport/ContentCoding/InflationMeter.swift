/// A meter of how much a body may grow while its content codings are removed, all of them together: with a limit for
/// each, five layers could grow by the fifth power of the factor.
///
/// Unchecked: only used by the `next()` of the layers of one body, which call each other one at a time.
final class InflationMeter: @unchecked Sendable {
  let factor: Int?
  private var received: Int64 = 0

  init(factor: Int?) { self.factor = factor }

  /// Adds bytes received from the wire.
  func received(_ count: Int) { received += Int64(count) }

  /// Returns whether a layer may have produced that many bytes from what has been received.
  func allows(_ decoded: Int64) -> Bool {
    guard let factor, decoded > ResponseLimits.inflationAllowance else { return true }
    let (allowed, overflow) = received.multipliedReportingOverflow(by: Int64(factor))
    return overflow || decoded <= allowed
  }
}
