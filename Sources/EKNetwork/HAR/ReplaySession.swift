import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

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
/// Members of a JSON body may have another order, and a form another boundary. Of a streamed body only the length is
/// compared. Redirects are followed if their target was recorded. Each session has its own position in the recording:
/// tests can run concurrently.
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
    let own = log.redaction
    // Each digest hashes the salt.
    guard own?.salt.utf8.count ?? 0 <= Self.maximumSalt else {
      throw .notHAR(reason: "log._redaction.salt is too long")
    }
    let redaction = HARRedaction(salt: own?.salt ?? "", hidesSecrets: own?.hidesSecrets ?? false)
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
    let response = try await Exchange(transport: transport).open(request, collectsBody: false)
    return (StreamingBody(response.body).chunks.stream, response.head.urlResponse)
  }
}
