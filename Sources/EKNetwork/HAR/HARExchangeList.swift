/// The exchanges that a recorder keeps: the newest ones, within its limits.
struct HARExchangeList {
  private let maximumEntries: Int
  private let maximumSize: Int
  private var lastNumber = 0
  private var size = 0
  private(set) var exchanges: ArraySlice<HARExchange> = []
  /// The number of dropped exchanges.
  private(set) var dropped = 0
  private var unreleased = 0

  init(_ options: HAROptions) {
    maximumEntries = max(0, options.maximumEntries)
    maximumSize = max(0, options.maximumSize)
  }

  /// Returns the number of a request that is about to be sent.
  mutating func nextNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  mutating func append(_ exchange: HARExchange) {
    exchanges.append(exchange)
    size += exchange.cost
    while exchanges.count > maximumEntries || size > maximumSize, let first = exchanges.popFirst() {
      size -= first.cost
      dropped += 1
      unreleased += 1
    }
    // Elements removed from the front of a slice stay in its storage.
    if unreleased > exchanges.count {
      exchanges = ArraySlice(Array(exchanges))
      unreleased = 0
    }
  }

  mutating func removeAll() {
    exchanges = []
    unreleased = 0
    size = 0
    dropped = 0
  }
}
