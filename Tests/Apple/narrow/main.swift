// Parses numbers sent by a server with 32-bit integers. Each function returns 0, or the line of a failed check; an
// overflow traps.

private func frame(_ bytes: [UInt8]) -> Result<FrameHeader, ProtocolFailure> {
  bytes.withUnsafeBytes { FrameHeader.parse($0) }
}

@_expose(wasm, "integers") @_cdecl("integers")
func integers() -> Int32 { Int.bitWidth == 32 ? 0 : #line }

@_expose(wasm, "frames") @_cdecl("frames")
func frames() -> Int32 {
  for length in [0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 0x1_0000_0000, 0x7FFF_FFFF_FFFF_FFFF] as [UInt64] {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: length >> UInt64(56 - 8 * $0)) }
    switch frame([0x82, 127] + bytes) {
    case .success(let header): guard UInt64(header.length) == length, length <= 0x7FFF_FFFF else { return #line }
    case .failure(let failure): guard failure.code == .messageTooBig, length > 0x7FFF_FFFF else { return #line }
    }
  }
  return 0
}

@_expose(wasm, "cookies") @_cdecl("cookies")
func cookies() -> Int32 {
  guard CookieDate.seconds("31 Dec 9999 23:59:59") == 253_402_300_799 else { return #line }
  guard CookieDate.seconds("Tue, 19 Jan 2038 03:14:08 GMT") == 2_147_483_648 else { return #line }
  guard CookieDate.seconds("1 Jan 1601 00:00:00") == -11_644_473_600 else { return #line }
  guard CookieDate.maximumAge("99999999999999999999") == 2_147_483_647 else { return #line }
  guard CookieDate.maximumAge("2147483648") == 2_147_483_647, CookieDate.maximumAge("-1") == -1 else { return #line }
  return 0
}

@_expose(wasm, "keys") @_cdecl("keys")
func keys() -> Int32 {
  for count in 1...8 as ClosedRange<UInt8> {
    let head = [0x30, 0x80 | count] + [UInt8](repeating: 0xFF, count: Int(count))
    guard SubjectPublicKey.bytes(inCertificate: head + [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF]) == nil else {
      return #line
    }
  }
  return 0
}

/// Traps on an overflow, which the check must detect: a fixed defect of the library did the same.
@_expose(wasm, "trap") @_cdecl("trap")
func trap() -> Int32 { Int32(Int(integers() == 0 ? 0x8000_0000 : 0 as UInt64)) }
