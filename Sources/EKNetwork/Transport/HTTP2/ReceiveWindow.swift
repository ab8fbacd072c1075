/// How much of a stream its server may send before its consumer has read (RFC 9113 §5.2): little at first, and more for a
/// consumer that reads it all, so that a long way does not make a download slow.
struct ReceiveWindow {
  /// What an unread stream may hold, beside as much that waits for its consumer.
  static let initial = 128 * 1024
  static let maximum = 4 * 1024 * 1024
  /// What all streams of a connection together may hold.
  static let connection = 16 * 1024 * 1024

  private(set) var size = initial
  /// The bytes that were received and not yet read.
  private(set) var unread = 0
  /// The bytes that were read since the window has grown.
  private var read = 0

  mutating func received(_ count: Int) { unread += count }

  /// Takes what the consumer has read, which the server may send again.
  ///
  /// - Parameter spare: How much it may grow.
  /// - Returns: The number of bytes, and by how much the window has grown.
  mutating func consume(spare: Int) -> (count: Int, growth: Int) {
    let count = unread
    unread = 0
    read += count
    let growth = min(size, Self.maximum - size)
    guard read >= size, growth <= spare else { return (count, 0) }
    read = 0
    size += growth
    return (count, growth)
  }
}
