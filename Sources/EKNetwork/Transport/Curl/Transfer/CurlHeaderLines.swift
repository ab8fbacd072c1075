#if os(Linux)
  import CCurl

  /// A libcurl list of header lines, freed with the last reference.
  final class CurlHeaderLines: @unchecked Sendable {
    // Unchecked: only written in `init`. libcurl only reads it, in several transfers at once.
    let list: OpaquePointer?

    /// Returns `nil` if there is not enough memory.
    init?(_ fields: [(name: String, value: String)], suppressing suppressed: [String]) {
      var list: OpaquePointer?
      func append(_ line: String) -> Bool {
        // Only cookies carry bytes that are not text.
        let longer =
          ObsoleteText.bytes(line).map { bytes in
            (bytes + [0]).withUnsafeBytes {
              ekn_slist_append(list, $0.baseAddress?.assumingMemoryBound(to: CChar.self))
            }
          } ?? ekn_slist_append(list, line)
        guard let longer else { return false }
        list = longer
        return true
      }
      // `Name;` is libcurl's way to send a field without a value.
      let isComplete =
        fields.allSatisfy { append($0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)") }
        && suppressed.allSatisfy { append("\($0):") }
      self.list = list
      guard isComplete else { return nil }
    }

    deinit { ekn_slist_free(list) }
  }
#endif
