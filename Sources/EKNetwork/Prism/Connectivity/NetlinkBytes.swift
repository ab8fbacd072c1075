/// A bounds-checked reader of bytes from the kernel, in native byte order.
struct NetlinkBytes {
  private let slice: ArraySlice<UInt8>

  init(_ slice: ArraySlice<UInt8>) { self.slice = slice }

  var bytes: [UInt8] { Array(slice) }

  func uint8(_ offset: Int) -> UInt8? { load(offset) }
  func uint16(_ offset: Int) -> UInt16? { load(offset) }
  func uint32(_ offset: Int) -> UInt32? { load(offset) }
  func int32(_ offset: Int) -> Int32? { load(offset) }

  /// Returns the first `count` bytes; `nil` if there are fewer.
  func prefix(_ count: Int) -> NetlinkBytes? { count <= slice.count ? NetlinkBytes(slice.prefix(count)) : nil }

  func dropFirst(_ count: Int) -> NetlinkBytes { NetlinkBytes(slice.dropFirst(count)) }

  /// Calls `body` with each attribute (`struct rtattr`).
  func attributes(_ body: (_ type: UInt16, _ value: NetlinkBytes) -> Void) {
    var rest = self
    while let length = rest.uint16(0), length >= 4, let type = rest.uint16(2), let attribute = rest.prefix(Int(length))
    {
      // The two highest bits are flags that describe the encoding of the value.
      body(type & 0x3FFF, attribute.dropFirst(4))
      rest = rest.dropFirst((Int(length) + 3) & ~3)
    }
  }

  /// Calls `body` with the link index of each next hop of a multipath route (`struct rtnexthop`).
  func nextHops(_ body: (Int32) -> Void) {
    var rest = self
    while let length = rest.uint16(0), length >= 8, let index = rest.int32(4), rest.prefix(Int(length)) != nil {
      body(index)
      rest = rest.dropFirst((Int(length) + 3) & ~3)
    }
  }

  private func load<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int) -> Value? {
    guard offset >= 0, slice.count - offset >= MemoryLayout<Value>.size else { return nil }
    return slice.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: Value.self) }
  }
}
