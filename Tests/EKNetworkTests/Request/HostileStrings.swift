/// A reproducible source of strings with characters that parsers mishandle.
struct HostileStrings {
  private static let scalars: [Unicode.Scalar] =
    Array(
      " %+&=;#?/\\\"'<>()[]{}|^`~!@$*,:._-0aAzZ\t\r\n\0\u{7F}\u{80}\u{9F}\u{A0}éß日本\u{2028}\u{FEFF}\u{FFFD}😀\u{10FFFF}"
        .unicodeScalars)

  private var state: UInt64

  init(seed: UInt64) { state = seed }

  /// The next string, of up to 12 scalars.
  mutating func next() -> String {
    var view = String.UnicodeScalarView()
    for _ in 0..<below(13) {
      if below(8) == 0, let scalar = Unicode.Scalar(UInt32(below(0x11_0000))) {
        view.append(scalar)
      } else {
        view.append(Self.scalars[below(Self.scalars.count)])
      }
    }
    return String(view)
  }

  /// Up to two pairs of such strings.
  mutating func nextPairs() -> [String: String] {
    var pairs = [next(): next()]
    pairs[next()] = next()
    return pairs
  }

  /// A number below the bound, from SplitMix64.
  private mutating func below(_ bound: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    value ^= value >> 31
    return Int(value % UInt64(bound))
  }
}
