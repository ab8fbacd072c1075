import Foundation

/// The entry point that libFuzzer calls with each input, in one module with the parser's sources.
///
/// The first byte selects whether messages can be compressed and their maximum size, the second seeds the cuts; the
/// rest is the data from a server. Besides traps and invalid memory accesses, it detects events that depend on the
/// cuts, and messages above the limit.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzMessageReceiver(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  guard count >= 2, let start else { return 0 }
  let isCompressed = start[0] & 1 == 1
  let limit = [64, 1000, 10_000, 70_000][Int(start[0] >> 1 & 3)]
  let bytes = UnsafeRawBufferPointer(start: start + 2, count: count - 2)
  let whole = events(bytes, isCompressed: isCompressed, limit: limit) { _ in .max }
  var state = UInt32(start[1]) &+ 1
  let cut = events(bytes, isCompressed: isCompressed, limit: limit) { _ in
    state = state &* 1_664_525 &+ 1_013_904_223
    // Mostly a few bytes, sometimes many.
    return Int(state >> 28 == 0 ? state >> 16 & 0xFF : state >> 24 & 7)
  }
  precondition(whole == cut, "the events depend on the cuts")
  let single = events(bytes, isCompressed: isCompressed, limit: limit) { _ in 1 }
  precondition(whole == single, "the events depend on the cuts")
  for event in whole {
    switch event {
    case .message(.text(let text)): precondition(text.utf8.count <= limit)
    case .message(.binary(let data)): precondition(data.count <= limit)
    case .ping(let data), .pong(let data): precondition(data.count <= 125)
    case .close(let code, _): precondition(code.isSendable || code == .noStatusReceived)
    case .failure(let failure): precondition(failure.code.isSendable)
    }
  }
  return 0
}

private func events(
  _ bytes: UnsafeRawBufferPointer, isCompressed: Bool, limit: Int, cut: (Int) -> Int
) -> [MessageDecoder.Event] {
  let inflater = isCompressed ? MessageInflater(keepsContext: true) : nil
  var receiver = MessageDecoder(maximumMessageSize: limit, inflater: inflater)
  var events: [MessageDecoder.Event] = []
  var rest = bytes[...]
  while !rest.isEmpty {
    let piece = rest.prefix(max(1, cut(rest.count)))
    rest = rest.dropFirst(piece.count)
    var offset = 0
    while let event = receiver.next(in: UnsafeRawBufferPointer(rebasing: piece), from: &offset) { events.append(event) }
  }
  return events
}
