extension FixedWidthInteger {
  /// Returns the sum of two non-negative numbers, or the greatest representable number: sizes and times from outside
  /// can have any value.
  func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
