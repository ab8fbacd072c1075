/// What is read while messages wait for their reader: a peer that pings meanwhile is answered at once (RFC 6455 §5.5.2),
/// and its pongs are heard. The bytes are kept, up to a bound, and their messages come when there is room.
struct ReadAheadState {
  /// Beyond this nothing more is read, and the system slows the peer down.
  static let limit = 256 * 1024

  private var scanner = ControlScanner()
  private var kept: [UInt8] = []
  private var failure: (any Error)?
  /// How many pings of the kept bytes have been answered.
  private var answered = 0
  private(set) var isReading = false

  /// The reader has to wait for room.
  ///
  /// - Parameter unscanned: What it has read and not looked at; `nil` if that has been scanned.
  /// - Returns: What to answer, and whether reading has to go on.
  mutating func hold(_ unscanned: ArraySlice<UInt8>?) -> (controls: [ControlScanner.Control], beginsToRead: Bool) {
    var controls: [ControlScanner.Control] = []
    if let unscanned {
      // A message has just ended, and so a frame.
      scanner = ControlScanner()
      controls = scan(unscanned)
    }
    guard !isReading, hasRoom else { return (controls, false) }
    isReading = true
    return (controls, true)
  }

  /// Something was read, or nothing ever will be.
  ///
  /// - Parameter isHeld: Whether the reader still waits for room.
  /// - Returns: What to answer, and whether to read on.
  mutating func received(
    _ result: Result<[UInt8], any Error>, isHeld: Bool
  ) -> (controls: [ControlScanner.Control], goesOn: Bool) {
    var controls: [ControlScanner.Control] = []
    switch result {
    case .success(let bytes):
      controls = scan(bytes[...])
      if kept.isEmpty { kept = bytes } else { kept += bytes }
    case .failure(let error): failure = error
    }
    isReading = isHeld && hasRoom
    return (controls, isReading)
  }

  enum Next {
    case bytes([UInt8])
    case failure(any Error)
    /// The read-ahead is about to have something.
    case wait
    case read
  }

  /// What the reader looks at next.
  mutating func take() -> Next {
    if !kept.isEmpty {
      defer { kept = [] }
      return .bytes(kept)
    }
    if isReading { return .wait }
    if let failure { return .failure(failure) }
    return .read
  }

  /// Whether the next ping that the reader comes to has been answered.
  mutating func takeAnsweredPing() -> Bool {
    guard answered > 0 else { return false }
    answered -= 1
    return true
  }

  private var hasRoom: Bool { failure == nil && !scanner.isOver && kept.count < Self.limit }

  private mutating func scan(_ bytes: ArraySlice<UInt8>) -> [ControlScanner.Control] {
    let controls = scanner.scan(bytes)
    for case .ping in controls { answered += 1 }
    return controls
  }
}
