import Foundation

/// What a task of the system's carries across runs of the app, as JSON in its `taskDescription`.
struct BackgroundRecord: Codable, Equatable, Sendable {
  var id: String
  var destination: String?
  var replacesFile = false
  /// The bounds of the accepted statuses.
  var accepted: [[Int]]
  /// The path of the file with an upload's body, if it belongs to the library.
  var spool: String?
  /// Where the app's folders were when the task was made. Both can move between runs.
  var places: BackgroundPlaces

  var text: String {
    get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) }
  }

  /// Reads the text of a task; `nil` if the library has not made the task.
  init?(text: String?, in places: BackgroundPlaces) {
    guard let text, var record = try? JSONDecoder().decode(BackgroundRecord.self, from: Data(text.utf8)) else {
      return nil
    }
    record.destination = record.destination.map { record.places.moved($0, to: places) }
    record.spool = record.spool.map { record.places.moved($0, to: places) }
    record.places = places
    self = record
  }

  init(
    id: String, destination: URL? = nil, replacesFile: Bool = false, accepted: StatusCodes = .successful,
    in places: BackgroundPlaces
  ) {
    self.id = id
    self.destination = destination?.path
    self.replacesFile = replacesFile
    self.accepted = accepted.bounds
    self.places = places
  }

  var destinationURL: URL? { destination.map { URL(fileURLWithPath: $0, isDirectory: false) } }

  var transfer: BackgroundTransfer { BackgroundTransfer(id: id, destination: destinationURL) }

  func accepts(_ status: Int?) -> Bool { status.map { StatusCodes(bounds: accepted).contains($0) } ?? false }
}

/// The folders of the app that have another path in each run.
struct BackgroundPlaces: Codable, Equatable, Sendable {
  var home: String
  var group: String?

  func moved(_ path: String, to now: BackgroundPlaces) -> String {
    let path = path.moved(from: home, to: now.home)
    return now.group.map { path.moved(from: group, to: $0) } ?? path
  }

  /// The folder for the bodies of a session's uploads, which must outlive the process.
  func spoolFolder(of identifier: String) -> URL {
    #if os(tvOS)
      let library = "Library/Caches"  // Apps have no other folder there.
    #else
      let library = "Library/Application Support"
    #endif
    return URL(fileURLWithPath: group ?? home, isDirectory: true)
      .appendingPathComponent(library + "/EKNetwork/Uploads/" + SHA256.hexadecimal(Array(identifier.utf8)))
  }
}

/// What a background session cannot do, found before anything is sent.
enum BackgroundRules {
  static func refusal(_ option: String) -> TransportOptionError {
    TransportOptionError(option: option, library: "A background session")
  }

  static func check<T: NetworkRequest>(_ request: T, of manager: NetworkManager) throws(TransportOptionError) {
    guard case .system = manager.transport.connectionSettings.trust else {
      throw refusal("TLSOptions, and the challenges of a delegate")
    }
    guard manager.transport.sessionSettings.proxies == nil else { throw refusal("connectionProxyDictionary") }
    let refused = [
      (request.credential != nil, "credential"), (request.onInterimResponse != nil, "onInterimResponse"),
      (request.totalTimeout != nil, "totalTimeout"), (request.maximumResponseSize != nil, "maximumResponseSize"),
      (request.redirectPolicy != .follow, "redirectPolicy"),
    ]
    if let option = refused.first(where: { $0.0 }) { throw refusal(option.1) }
  }

  static func check(_ destination: URL, replacesFile: Bool) throws(DownloadError) {
    _ = try FileDownload.existing(
      at: destination, options: DownloadOptions(existingFile: replacesFile ? .replace : .fail))
    let folder = destination.deletingLastPathComponent()
    guard access(folder.path, F_OK) == 0 else { throw .folderNotFound(folder) }
  }

  static func segments(of request: URLRequest) throws(TransportOptionError) -> [BodySegment] {
    guard let stream = request.httpBodyStream else { return [.data(request.httpBody ?? Data())] }
    guard let body = stream as? BodyInputStream, case .segments(let segments) = body.source else {
      throw refusal("a stream or a sequence as the body")
    }
    return segments
  }
}

/// The transfers of a session, as far as this process knows of them: what happened to them, and when the app may be suspended.
struct BackgroundState {
  static let longestBody = 1_048_576

  /// The ids of transfers that were started in this run and have not ended.
  private(set) var started: Set<String> = []
  /// The starts that are under way: their transfers have no task yet.
  private(set) var starts: [Int: (id: String, isCancelled: Bool, isIDCancelled: Bool)] = [:]
  private var startCount = 0
  /// The tasks whose end was delivered in this run: the session may still list them for a moment.
  private var ended: Set<Int> = []
  /// Those who wait for the end of tasks, or of starts, with those that have not ended.
  private(set) var endWaiters: [(tasks: Set<Int>, waiter: SingleResult)] = []
  /// What became of downloaded files, until their tasks are complete.
  private var files: [String: Result<NetworkResponse, any Error>] = [:]
  /// The bodies of responses to uploads; `nil` for one that is too long.
  private var bodies: [String: Data?] = [:]
  private var events: [BackgroundTransferEvent] = []
  var readers = WaiterQueue<BackgroundTransferEvent>()
  private var handlers: [WakeUpHandler] = []
  /// Whether the session has delivered all its events, and the app was given no handler for them.
  private var eventsAreFinished = false

  /// Begins a transfer. Returns the number of its start, which no task has; `nil` if there is a transfer with its id.
  mutating func begin(_ id: String) -> Int? {
    guard started.insert(id).inserted else { return nil }
    startCount += 1
    starts[-startCount] = (id, false, false)
    return -startCount
  }

  /// The starts of a transfer that are under way: at most one.
  func starts(of id: String) -> Set<Int> { Set(starts.filter { $0.value.id == id }.keys) }

  func isCancelled(_ start: Int) -> Bool { starts[start]?.isCancelled == true }

  mutating func cancelStart(_ start: Int) { starts[start]?.isCancelled = true }

  /// Cancels the starts of ids that are under way, and those that wait for them. Returns their numbers.
  mutating func cancelStarts(_ isMeant: (_ id: String) -> Bool) -> Set<Int> {
    let meant = starts.filter { isMeant($0.value.id) }
    for (start, value) in meant { starts[start] = (value.id, true, true) }
    return Set(meant.keys)
  }

  /// What those who wait for a start receive that has failed for a reason that is not theirs: they start themselves.
  struct StartFailed: Error {}

  /// Handles the end of a start. Returns those who waited only for it, and why they do not have its transfer.
  mutating func startEnded(_ start: Int, hasFailed: Bool) -> (waiters: [SingleResult], error: (any Error)?) {
    let waiters = takeWaiters(for: start)
    guard let ended = starts.removeValue(forKey: start), hasFailed else { return (waiters, nil) }
    started.remove(ended.id)
    return (waiters, ended.isIDCancelled ? URLError(.cancelled) : StartFailed())
  }

  mutating func progressed(_ transfer: BackgroundTransfer) -> Delivery? {
    eventsAreFinished = false
    return add(.progress(transfer))
  }

  mutating func downloaded(_ id: String, _ result: Result<NetworkResponse, any Error>) {
    eventsAreFinished = false
    files[id] = result
  }

  mutating func received(_ id: String, _ data: Data) {
    eventsAreFinished = false
    guard let body = bodies[id, default: Data()] else { return }
    bodies[id] = body.count + data.count <= Self.longestBody ? body + data : Data?.none
  }

  mutating func completed(
    _ record: BackgroundRecord, _ transfer: BackgroundTransfer, head: ResponseHead?, error: (any Error)?,
    resumeData: Data?
  ) -> Delivery? {
    eventsAreFinished = false
    started.remove(record.id)
    let body = bodies.removeValue(forKey: record.id) ?? nil
    if let file = files.removeValue(forKey: record.id) {
      switch file {
      case .success(let response): return add(.finished(transfer, response))
      case .failure(let error): return add(.failed(transfer, error, resumeData: nil))
      }
    }
    if let error { return add(.failed(transfer, error, resumeData: resumeData)) }
    // A download without a file is none.
    guard let head, head.statusCode != nil, record.destination == nil else {
      return add(.failed(transfer, NetworkError.invalidResponse, resumeData: nil))
    }
    let response = CollectedResponse(head: head, data: body ?? Data())
    if !record.accepts(head.statusCode), let error = ResponseValidation.httpError(of: response, method: nil) {
      return add(.failed(transfer, error, resumeData: nil))
    }
    return add(.finished(transfer, NetworkResponse(response)))
  }

  func hasEnded(_ task: Int) -> Bool { ended.contains(task) }

  /// Adds one who waits for the end of tasks. Returns whether there is anything to wait for.
  mutating func wait(for tasks: Set<Int>, _ waiter: SingleResult) -> Bool {
    let running = tasks.subtracting(ended)
    guard !running.isEmpty else { return false }
    endWaiters.append((running, waiter))
    return true
  }

  /// Records that the end of a task was delivered. Returns those who waited only for it.
  mutating func ended(_ task: Int) -> [SingleResult] {
    ended.insert(task)
    return takeWaiters(for: task)
  }

  private mutating func takeWaiters(for task: Int) -> [SingleResult] {
    for index in endWaiters.indices { endWaiters[index].tasks.remove(task) }
    let waiters = endWaiters.filter { $0.tasks.isEmpty }.map(\.waiter)
    endWaiters.removeAll { $0.tasks.isEmpty }
    return waiters
  }

  typealias Reader = CheckedContinuation<BackgroundTransferEvent, any Error>
  typealias Delivery = (reader: Reader, event: BackgroundTransferEvent)

  /// Adds an event, which replaces progress of the same transfer that was not read. Returns the reader that waits for it.
  private mutating func add(_ event: BackgroundTransferEvent) -> Delivery? {
    if let reader = readers.popFirst() { return (reader, event) }
    events.removeAll {
      if case .progress(let old) = $0 { old.id == event.transfer.id } else { false }
    }
    events.append(event)
    return nil
  }

  mutating func takeEvent() -> BackgroundTransferEvent? { events.isEmpty ? nil : events.removeFirst() }

  mutating func next(_ reader: Reader, id: UInt64) -> BackgroundTransferEvent? {
    if let event = takeEvent() { return event }
    readers.append(reader, id: id)
    return nil
  }

  /// Takes a handler. Returns those to call now: the session may have delivered its events before the app was asked.
  mutating func handleEvents(_ handler: WakeUpHandler) -> [WakeUpHandler] {
    handlers.append(handler)
    return eventsAreFinished ? finishedEvents() : []
  }

  mutating func finishedEvents() -> [WakeUpHandler] {
    eventsAreFinished = handlers.isEmpty
    return exchange(&handlers, with: [])
  }
}

/// A completion handler of the app's delegate.
///
/// Sendable, unchecked: it is received and called on the main actor only.
struct WakeUpHandler: @unchecked Sendable {
  let call: () -> Void
}
