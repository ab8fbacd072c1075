extension FixedWidthInteger {
  /// The sum of two numbers that are not negative, or the greatest number that there is: any size or time can be claimed.
  func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? .max : sum
  }
}
