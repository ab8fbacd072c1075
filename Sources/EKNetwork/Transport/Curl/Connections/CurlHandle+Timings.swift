#if os(Linux)
  import CCurl

  extension CurlHandle {
    /// The timings that libcurl has measured for the transfer that has just ended. libcurl counts all times from the
    /// start; a phase that did not take place has the time of the one before it, or none.
    var timings: NetworkTimings {
      let lookedUp = time(EKN_INFO_NAMELOOKUP_TIME)
      let connected = time(EKN_INFO_CONNECT_TIME)
      let secured = time(EKN_INFO_APPCONNECT_TIME)
      let isReused = hasReusedConnection
      return NetworkTimings(
        nameLookup: isReused ? nil : lookedUp,
        connect: isReused ? nil : connected - lookedUp,
        secureConnect: isReused || secured == .zero ? nil : secured - connected,
        firstByte: time(EKN_INFO_STARTTRANSFER_TIME),
        total: time(EKN_INFO_TOTAL_TIME),
        isConnectionReused: isReused,
        protocolName: Self.protocolName(ekn_easy_info_long(easy, Int32(EKN_INFO_HTTP_VERSION))),
        remoteAddress: ekn_easy_info_string(easy, Int32(EKN_INFO_PRIMARY_IP)).map { String(cString: $0) })
    }

    private func time(_ info: Int) -> Duration {
      .microseconds(ekn_easy_info_offset(easy, Int32(info)))
    }

    /// Returns the name of libcurl's `CURL_HTTP_VERSION_…`.
    private static func protocolName(_ version: Int) -> String? {
      switch version {
      case 1: "HTTP/1.0"
      case 2: "HTTP/1.1"
      case 3: "HTTP/2"
      case 30: "HTTP/3"
      default: nil
      }
    }
  }
#endif
