import Foundation

/// A session for tests, which responds from a HAR file without using the network.
///
/// ```swift
/// let session = try ReplaySession(contentsOf: file)
/// let manager = NetworkManager(baseURL: url, session: session)
/// ```
///
/// The file may come from a ``HARRecorder``, a ``RecordingSession``, a browser or another tool. Each recorded response
/// is used once, in the order of the recording, for a request with the same method, URL and body, and with the same
/// conditions (`Range`, `If-None-Match` and the like). If requests to one URL were recorded with different fields, such
/// as `Accept`, or with different credentials, each gets the response with the same field. The secrets of the replay
/// need not be those of the recording: one that was not recorded is matched to the recorded secret of the first
/// response that it gets, and never to one that another is matched to.
///
/// Members of a JSON body of up to 1 MiB may have another order, and a form another boundary. Of a streamed body only the
/// length is compared. Redirects are followed if their target was recorded. Each session has its own position in the
/// recording: tests can run concurrently.
public final class ReplaySession: URLSessionProtocol, URLSessionStreamingProtocol, Sendable {
  private static let maximumSalt = 128

  private let transport: ReplayTransport

  /// The entries of the file that cannot be replayed, as ``HARError/invalidEntry(_:reason:)``, in order: their URL is
  /// relative, for example, or their content is damaged. If that is all of them, the initialiser throws the first one.
  public let skippedEntries: [HARError]

  /// Creates a session that responds from the bytes of a HAR file.
  ///
  /// - Parameters:
  ///   - data: The file, of any origin. An entry that cannot be used is skipped: see ``skippedEntries``.
  ///   - maximumSize: The maximum size of the file in bytes. Defaults to 64 MiB. Reading it takes a few times its size
  ///     in memory.
  /// - Throws: ``HARError``.
  public init(har data: Data, maximumSize: Int = 64 * 1024 * 1024) throws(HARError) {
    let log = try HARFile.read(data, limit: maximumSize).log
    let own = log._redaction
    // Each digest hashes the salt.
    guard own?.salt.utf8.count ?? 0 <= Self.maximumSalt else {
      throw .notHAR(reason: "log._redaction.salt is too long")
    }
    let redaction = own ?? HARRedaction(salt: "", hidesSecrets: false)
    var entries: [ReplayEntry] = []
    var skipped: [HARError] = []
    for (index, entry) in log.entries.enumerated() {
      do {
        entries.append(try ReplayEntry(entry.entry.get(), redaction: redaction, isOwn: own != nil))
      } catch {
        skipped.append(.invalidEntry(index, reason: error.reason))
      }
    }
    if entries.isEmpty, let first = skipped.first { throw first }
    skippedEntries = skipped
    transport = ReplayTransport(recording: Locked(ReplayRecording(entries)), redaction: redaction)
  }

  /// Creates a session that responds from a HAR file, which is read immediately.
  ///
  /// - Parameters:
  ///   - file: A file URL.
  ///   - maximumSize: The maximum size of the file in bytes. Defaults to 64 MiB. Reading it takes a few times its size
  ///     in memory.
  /// - Throws: ``HARError``.
  public convenience init(contentsOf file: URL, maximumSize: Int = 64 * 1024 * 1024) throws(HARError) {
    guard file.isFileURL else { throw .notReadable(file, reason: "it is not a file URL") }
    let data: Data
    do {
      let handle = try FileHandle(forReadingFrom: file)
      defer { try? handle.close() }
      // One byte more than allowed shows that there is more, whatever size the file system reports.
      data = try handle.read(upToCount: max(0, min(maximumSize, .max - 1)) + 1) ?? Data()
    } catch {
      throw .notReadable(file, reason: error.localizedDescription)
    }
    try self.init(har: data, maximumSize: maximumSize)
  }

  /// The requests of the recording that have not been made yet, as method and URL, in order. Empty when a test has made
  /// all of them.
  public var unusedRequests: [String] { transport.recording.withLock { $0.unused } }

  /// Responds to a request with the whole body.
  ///
  /// - Throws: ``UnexpectedRequest``; the `URLError` that was recorded; ``Failure``; `CancellationError` when the task
  ///   is cancelled.
  public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    try await Exchange(transport: transport).data(for: request)
  }

  /// Responds to a request with the chunks in which the body arrived when it was recorded; a body from another tool is
  /// one chunk. Throws as ``data(for:)`` does; a failure after the response head is thrown by the stream.
  public func dataStream(for request: URLRequest) async throws -> (AsyncThrowingStream<Data, Error>, URLResponse) {
    let response = try await Exchange(transport: transport).open(HTTPRequest(request), collectsBody: false)
    return (StreamingBody(response.body).chunks.stream, response.head.urlResponse)
  }
}

extension ReplaySession {
  /// An error for a request without a recorded response. ``NetworkManager`` throws it unchanged, and does not retry the
  /// request.
  public struct UnexpectedRequest: NonRetriableError, LocalizedError, Equatable, Sendable, CustomStringConvertible {
    /// The reason why there is no response.
    public enum Reason: Sendable, Equatable {
      /// No request with this method and URL was recorded.
      case notRecorded
      /// The method and the URL were recorded, but not with this body.
      case otherBody
      /// The method and the URL were recorded, but not with these conditions, such as `Range`.
      case otherFields
      /// The method and the URL were recorded, but for another user.
      case otherCredentials
      /// The request was recorded, but each response has been used already.
      case usedUp
    }

    /// The maximum number of recorded requests in the description.
    private static let listed = 20

    /// The method and the URL, as written in the recording: its secrets are hidden if those of the recording are.
    public let request: String
    /// The reason why there is no response.
    public let reason: Reason
    /// The requests of the recording in order; those whose response was used end in ` (used)`.
    public let recorded: [String]

    /// A description of the request and of the recorded ones, in one line.
    public var description: String {
      var text = "No recorded response for \(request): \(explanation). "
      guard !recorded.isEmpty else { return text + "The recording is empty." }
      text += "Recorded: " + recorded.prefix(Self.listed).joined(separator: ", ")
      if recorded.count > Self.listed { text += " and \(recorded.count - Self.listed) more" }
      return text
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }

    private var explanation: String {
      switch reason {
      case .notRecorded: "no request with this method and URL was recorded"
      case .otherBody: "recorded with a different body"
      case .otherFields: "recorded with different conditional headers"
      case .otherCredentials: "recorded with different credentials"
      case .usedUp: "all recorded responses were used"
      }
    }
  }

  /// An error for a recorded response that cannot be replayed.
  public enum Failure: NonRetriableError, LocalizedError, Equatable, Sendable {
    /// The request failed when it was recorded, with an error that is not a `URLError`. The text names its type.
    case recorded(String)
    /// The recording does not contain the whole body: it was longer than ``HAROptions/maximumBodySize``, or a tool has
    /// left it out, or did not know its size. The text is the request. A stream first returns the recorded part.
    case incompleteBody(String)

    /// A description of the error, in one line.
    public var errorDescription: String? {
      switch self {
      case .recorded(let text): "The request failed when it was recorded: \(text)"
      case .incompleteBody(let request): "The recording does not contain the whole body of \(request)"
      }
    }

    /// Returns the error that a recorder wrote as this text.
    static func error(named text: String) -> any Error {
      let words = text.split(separator: " ")
      guard words.count == 2, words[0] == "URLError", let number = Int(words[1]) else { return Failure.recorded(text) }
      // On Linux, not every number is a valid code.
      let code: URLError.Code? = URLError.Code(rawValue: number)
      return code.map { URLError($0) } ?? Failure.recorded(text)
    }
  }
}

/// A transport that responds from a recording instead of the network. Redirects are followed above it, as for the
/// network.
struct ReplayTransport: Transport {
  let recording: Locked<ReplayRecording>
  let redaction: HARRedaction
  let sessionSettings = SessionSettings.opaque()

  var resolvesRedirects: Bool { false }
  var resourceTimeout: Duration? { nil }

  func start(_ request: TransportRequest) async throws -> TransportResponse {
    try Task.checkCancellation()
    let url = request.sent.url
    let given = HARRequest(request.sent.urlRequest, redaction: redaction)
    let response = try recording.withLock { try $0.next(given) }.response.get()
    guard
      let head = ResponseHead.make(
        status: response.status, reason: response.reason, fields: response.fields, url: url)
    else { throw URLError(.badServerResponse) }
    return TransportResponse(head: head, body: body(of: response), redirect: decision(on: head, from: url))
  }

  /// Returns the decision on a redirect: one that was not followed when it was recorded is the response.
  private func decision(on head: ResponseHead, from url: URL) -> RedirectDecision {
    guard let location = head.hint("location"), let target = ServerURL.resolve(location, against: url) else {
      return .undecided
    }
    let text = redaction.url(target)
    return recording.withLock { $0.contains(url: text) } ? .undecided : .declined
  }

  private func body(of response: ReplayEntry.Response) -> any TransportBody {
    if response.failure == nil, response.pieces.count < 2 { return BufferedBody(response.pieces.first ?? Data()) }
    return ChunkStreamBody(
      AsyncThrowingStream<Data, Error> { continuation in
        for piece in response.pieces { continuation.yield(piece) }
        continuation.finish(throwing: response.failure)
      })
  }
}
