/// How much a body may grow while its content codings are undone, all of them together: each for itself, five layers
/// could grow by the fifth power of the factor.
///
/// Unchecked: used by the `next()` of the layers of one body, of which one runs at a time, each inside the one above.
final class InflationMeter: @unchecked Sendable {
  let factor: Int?
  private var received: Int64 = 0

  init(factor: Int?) { self.factor = factor }

  /// Bytes have come from the wire.
  func received(_ count: Int) { received += Int64(count) }

  /// Whether a layer may have made that many bytes of what has come from the wire.
  func allows(_ decoded: Int64) -> Bool {
    guard let factor, decoded > ResponseLimits.inflationAllowance else { return true }
    let (allowed, overflow) = received.multipliedReportingOverflow(by: Int64(factor))
    return overflow || decoded <= allowed
  }
}
