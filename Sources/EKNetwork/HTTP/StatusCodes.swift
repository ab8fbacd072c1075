/// A set of status codes (RFC 9110 §15), such as those that a request accepts as its response.
///
/// ```swift
/// let found: StatusCodes = [200, 404]
/// let noServerError: StatusCodes = .range(200..<500)
/// ```
public struct StatusCodes: Sendable, Hashable, ExpressibleByArrayLiteral {
  private var ranges: [Range<Int>]

  private init(ranges: [Range<Int>]) { self.ranges = ranges }

  /// Creates a set of single codes.
  public init(arrayLiteral elements: Int...) {
    self = elements.reduce(StatusCodes(ranges: [])) { $0.union(.range($1...$1)) }
  }

  /// The codes of successful responses: 200 to 299 (RFC 9110 §15.3).
  public static let successful = StatusCodes.range(200..<300)
  /// Every code.
  public static let any = StatusCodes.range(Int.min..<Int.max)

  /// The codes of a range.
  public static func range(_ codes: Range<Int>) -> StatusCodes { StatusCodes(ranges: codes.isEmpty ? [] : [codes]) }

  /// The codes of a range that includes its end.
  public static func range(_ codes: ClosedRange<Int>) -> StatusCodes {
    .range(codes.lowerBound..<(codes.upperBound == .max ? .max : codes.upperBound + 1))
  }

  /// Returns the codes that are in either of two sets.
  public func union(_ other: StatusCodes) -> StatusCodes {
    // Joined where they overlap or touch, so that equal sets are equal.
    var joined: [Range<Int>] = []
    for range in (ranges + other.ranges).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return StatusCodes(ranges: joined)
  }

  var bounds: [[Int]] { ranges.map { [$0.lowerBound, $0.upperBound] } }

  /// Creates the set with these bounds; what are no bounds of a range is left out.
  init(bounds: [[Int]]) {
    self = bounds.reduce(StatusCodes(ranges: [])) { codes, pair in
      pair.count == 2 && pair[0] < pair[1] ? codes.union(.range(pair[0]..<pair[1])) : codes
    }
  }

  /// Returns whether a code is in the set.
  public func contains(_ code: Int) -> Bool { ranges.contains { $0.contains(code) } }
}
