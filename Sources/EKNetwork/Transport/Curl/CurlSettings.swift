#if os(Linux)
  import CCurl

  /// Sets the options of an easy handle, and keeps in mind the first that matters and was refused.
  struct CurlSettings {
    private let easy: OpaquePointer
    private(set) var refused: CurlOption?

    init(_ easy: OpaquePointer) { self.easy = easy }

    mutating func set(_ option: CurlOption, _ value: Int) {
      note(option, ekn_easy_set_long(easy, option.rawValue, value))
    }

    mutating func set(_ option: CurlOption, offset: Int64) {
      note(option, ekn_easy_set_offset(easy, option.rawValue, offset))
    }

    /// `nil` changes nothing.
    mutating func set(_ option: CurlOption, _ value: String?) {
      if let value { note(option, ekn_easy_set_string(easy, option.rawValue, value)) }
    }

    mutating func set(_ option: CurlOption, pointer: UnsafeRawPointer?) {
      note(option, ekn_easy_set_pointer(easy, option.rawValue, pointer))
    }

    mutating func set(_ option: CurlOption, callback: @escaping ekn_data_callback) {
      note(option, ekn_easy_set_data_callback(easy, option.rawValue, callback))
    }

    /// Keeps what a call of libcurl's that sets an option has returned.
    mutating func note(_ option: CurlOption, _ code: Int32) {
      if code != 0, refused == nil, option.isRequired { refused = option }
    }

    /// Why the transfer must not begin; `nil` where it may.
    var error: TransportOptionError? {
      refused.map { TransportOptionError(option: $0.name, library: "libcurl \(CurlLibrary.versionText)") }
    }
  }
#endif
