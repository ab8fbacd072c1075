#if os(Linux)
  /// The defects and limits of some versions of libcurl, and their workarounds: one case each, with the test that
  /// demonstrates it. The versions were determined from libcurl's source.
  enum CurlDefect: String, CaseIterable, Sendable {
    /// `headers.c`: the pointer to the latest header of the last transfer is kept when that header is freed. A response
    /// whose first header line begins with a blank is then written through it.
    /// Shown by `LibcurlDefectTests.leadingFoldedLineIsHarmless`.
    case danglingHeader
    /// `transfer.c`: a request is sent again over another connection when a reused one has failed, without a callback
    /// before it.
    /// Shown by `StaleConnectionTests.onlyRepeatableRequestsAreResent`.
    case resendsWithoutCallback
    /// `asyn-thread.c`: removing a transfer waits for the thread that resolves its host name.
    /// Shown by `HangingLookupTests.cancelledLookupDoesNotBlockOthers`.
    case joinsResolver
    /// `cf-socket.c`: a paused transfer still waits for its socket to become readable, and reads from it.
    /// Shown by `CurlTransportTests.unreadBodyStopsTheServer`.
    case readsWhilePaused
    /// `url.c`: a tunnel through a proxy is reused for requests with other credentials for the proxy.
    /// Shown by `ProxyPeerTests.tunnelIdentity`.
    case sharesTunnels
    /// `openssl.c`: the contents of a file of authorities are cached for a day, even if the file has been replaced.
    /// Shown by `TLSPeerTests.replacedAuthorities`.
    case keepsAuthorities
    /// `http.c`: a request with `Expect` is sent again without it after 417, although the response has been passed on.
    /// Shown by `LibcurlDefectTests.libcurlDoesNotResendAFailedExpectation`.
    case resendsAfterExpectation
    /// `http2.c`: a stream that is reset in the same read as its last data ends as if it were complete, and the failure
    /// of one stream is reported as the error of another.
    /// Shown by `HTTP2FaultPeerTests.truncated`.
    case completesResetStreams
    /// `http2.c`: while one stream is paused, nothing is read for the others on its connection.
    /// Shown by `HTTP2PeerTests.slowStream`.
    case pausesWholeConnections
    /// `url.c`: a status line that claims HTTP/2 is believed, and from then on several requests at once are sent over
    /// HTTP/1.1 connections to the same origin, whose responses reach the wrong requests.
    /// Shown by `TLSPeerTests.claimedVersion`, and without TLS by
    /// `LibcurlDefectTests.unnegotiatedVersionIsRefused`.
    case acceptsUnnegotiatedHTTP2
    /// `http2.c`: a transfer whose response is complete stops reading its connection, although more has been read from
    /// the socket than it has consumed, and does not notify the transfers that share the connection.
    /// Shown by `HTTP2FaultPeerTests.dataBehindAnEnd`.
    case leavesDataBehind
    /// `http2.c`: a complete response does not end a paused upload, because libcurl only looks at its stream when there
    /// is more to send; and an upload for which the server has left no window (RFC 9113 §5.2) tries to send in a loop.
    /// Shown by `HTTP2EarlyResponsePeerTests.waitingBody`.
    case stallsUploads
    /// `http2.c`: what is sent on a stream that the server has reset with NO_ERROR after the head of its response is
    /// discarded, and the response counts as complete. Later versions do not tell such a reset from the end of the
    /// response either. There it is left as it is: after a complete response without a length a reset is legal (RFC 9113
    /// §8.1), and must be a success. Shown by `HTTP2EarlyResponsePeerTests.resetAfterTheHead`.
    case completesResetUploads
    /// `transfer.c`: a request that is sent again over HTTP/2 continues its body where the first attempt stopped, if
    /// that attempt was waiting for space. Shown by `HTTP2FaultPeerTests.refused`.
    case resendsBodyFromMiddle
    /// `asyn-thrdd.c`: freeing a connection pool waits for its resolver threads, of which there are 20 at most.
    /// Shown by `HangingLookupTests.cancelledWebSocketLookupDoesNotBlockOthers`.
    case limitsResolvers

    /// `transfer.c`: neither the end of the response nor the closing of the connection ends a transfer whose body has
    /// nothing to send at the moment. Shown by `EarlyResponseTests.refusalArrivesWhileTheBodyIsPending`.
    case waitsForPausedBodies

    /// `cf-socket.c`: an idle connection on which data has arrived is reused, and that data is taken for the response
    /// to the next request. Shown by `LibcurlDefectTests.unsolicitedDataIsNoResponse`.
    case reusesConnectionsWithData

    /// `transfer.c`: of a TLS record that ends a body, what follows the body stays in the TLS library, and is taken for
    /// the response to the next request. Shown by `TLSPeerTests.surplus`.
    case leavesTLSInput

    /// `http_proxy.c`: a proxy's response to `CONNECT` is read within one call, however long it is.
    /// Shown by `ProxyPeerTests.endlessTunnel`.
    case readsEndlessTunnels

    /// The versions that have the defect, up to the first that does not.
    var versions: Range<CurlVersion> {
      switch self {
      case .danglingHeader: CurlVersion(7, 84)..<CurlVersion(8, 1)
      case .resendsWithoutCallback: Self.always.lowerBound..<CurlVersion(7, 80)
      case .joinsResolver: Self.always.lowerBound..<CurlVersion(7, 87)
      case .readsWhilePaused: CurlVersion(8, 5)..<CurlVersion(8, 6)
      case .sharesTunnels: Self.always.lowerBound..<CurlVersion(8, 19)
      case .keepsAuthorities: CurlVersion(7, 87)..<Self.always.upperBound
      case .resendsAfterExpectation: Self.always
      case .completesResetStreams: Self.always.lowerBound..<CurlVersion(7, 81)
      case .acceptsUnnegotiatedHTTP2: Self.always.lowerBound..<CurlVersion(8, 5)
      case .leavesDataBehind: CurlVersion(8, 15)..<Self.always.upperBound
      case .stallsUploads: CurlVersion(7, 88)..<CurlVersion(8, 3)
      case .completesResetUploads: CurlVersion(7, 88)..<CurlVersion(8, 5)
      case .resendsBodyFromMiddle: CurlVersion(8, 3)..<CurlVersion(8, 6)
      case .limitsResolvers: CurlVersion(8, 20)..<Self.always.upperBound
      case .pausesWholeConnections: Self.always.lowerBound..<CurlVersion(7, 88)
      case .waitsForPausedBodies, .leavesTLSInput, .readsEndlessTunnels: Self.always
      // Read in 7.81.0 and 8.3.0, which do not have it, and in 7.88.1.
      case .reusesConnectionsWithData: CurlVersion(7, 84)..<CurlVersion(8, 3)
      }
    }

    /// What the library does instead.
    var remedy: String {
      switch self {
      case .danglingHeader: "an easy handle is used for one transfer only; connections are kept"
      case .resendsWithoutCallback: "libcurl's log is monitored, and the transfer is ended if it must not be resent"
      case .joinsResolver: "a cancelled transfer stays with libcurl until its host's name is resolved"
      case .readsWhilePaused: "the sockets of paused transfers are not watched"
      case .sharesTunnels: "connections are shared only where the proxies and their credentials are the same"
      case .keepsAuthorities: "no connection is shared with requests from before a change of the file"
      case .resendsAfterExpectation: "the transfer ends with the first response"
      case .completesResetStreams, .pausesWholeConnections: "HTTP/2 is not used"
      case .acceptsUnnegotiatedHTTP2:
        "the version negotiated by TLS is used; an origin that claims HTTP/2 without it gets HTTP/1.1"
      case .leavesDataBehind: "a transfer on the same connection is run when one ends or is paused"
      case .stallsUploads: "uploads that may have to wait use HTTP/1.1, over connections of their own"
      case .completesResetUploads:
        "an upload that ends early has failed, unless it was refused or the response is complete"
      case .resendsBodyFromMiddle: "the body is rewound; if that is not possible, the transfer is ended"
      case .waitsForPausedBodies: "the library checks the socket, and resumes or ends the transfer"
      case .reusesConnectionsWithData: "an idle connection with unread data is not reused"
      case .leavesTLSInput: "the TLS library is asked, and such a connection is closed"
      case .readsEndlessTunnels:
        "libcurl's progress callback ends it after 300 KB, and when the request is cancelled or times out"
      case .limitsResolvers: "up to 256 resolver threads are allowed, and cleanup does not wait for them"
      }
    }

    static let always = CurlVersion(0, 0)..<CurlVersion(256, 0)
  }
#endif
