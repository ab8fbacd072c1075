import Foundation

struct BackgroundTaskStatus: Sendable {
  /// A number that no other task of the session has in this run.
  let identifier: Int
  let text: String?
  let completedBytes: Int64
  let totalBytes: Int64
}

protocol BackgroundTasks: Sendable {
  /// Starts a download, from what an earlier one has left if the system accepts that.
  func download(_ request: URLRequest, resumeData: Data?, text: String) throws
  func upload(_ request: URLRequest, from file: URL, text: String) throws
  /// The tasks that have not ended. Those whose end was just delivered may be among them.
  func all() async -> [BackgroundTaskStatus]
  /// Cancels tasks, and returns their identifiers. The end of each is delivered later.
  func cancel(_ isMeant: @escaping @Sendable (_ text: String?) -> Bool) async -> Set<Int>
}

/// What the ``BackgroundTransfers`` with one identifier share. The session's delegate calls it on the session's queue, one call at a
/// time.
final class BackgroundCenter: Sendable {
  let places: BackgroundPlaces
  let state = Locked(BackgroundState())
  private let tasks = Locked<(any BackgroundTasks)?>(nil)
  private let readers = Locked<UInt64>(0)
  private let spoolFolder: URL
  /// How the names of the copies begin that this process makes.
  private let run = UUID().uuidString
  /// In seconds: the system ends a task after seven days, the `timeoutIntervalForResource` of its session.
  private static let longestLife: TimeInterval = 8 * 86_400
  /// The number of days after which the copies of another session are removed that was not used.
  private static let longestDisuse = 16
  /// Makes the queue of a copy: one that blocks keeps no other.
  private let makeQueue: @Sendable () -> BlockingQueue

  init(
    places: BackgroundPlaces, identifier: String,
    makeQueue: @escaping @Sendable () -> BlockingQueue = { BlockingQueue(label: "EKNetwork.BackgroundTransfers") },
    _ makeTasks: (BackgroundCenter) -> (any BackgroundTasks)?
  ) {
    self.places = places
    spoolFolder = places.spoolFolder(of: identifier)
    self.makeQueue = makeQueue
    let made = makeTasks(self)
    tasks.withLock { $0 = made }
  }

  // Two sessions of one identifier in a process have undefined behaviour. The lock is held while one is created.
  private static let creation = NSLock()
  private static let centers = Locked<[String: BackgroundCenter]>([:])

  static func shared(_ identifier: String, _ options: BackgroundTransferOptions) -> BackgroundCenter {
    creation.withLock {
      if let known = centers.withLock({ $0[identifier] }) { return known }
      var places = BackgroundPlaces(home: NSHomeDirectory())
      #if canImport(Darwin)
        places.group = options.appGroup.flatMap {
          FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: $0)?.path
        }
      #endif
      let center = BackgroundCenter(places: places, identifier: identifier) { center in
        #if canImport(Darwin)
          // Foundation does not accept an empty identifier.
          identifier.isEmpty ? nil : SystemBackgroundTasks(identifier, options, center: center)
        #else
          nil
        #endif
      }
      centers.withLock { $0[identifier] = center }
      Task.detached(priority: .utility) { await center.removeOldCopies() }
      return center
    }
  }

  /// Starts the request that `make` returns, unless there is a transfer with this id: an upload if it has a body.
  nonisolated(nonsending) func start(
    _ record: BackgroundRecord, resumeData: Data? = nil, _ make: () throws -> (URLRequest, [BodySegment]?)
  ) async throws -> BackgroundTransfer {
    guard let tasks = tasks.withLock({ $0 }) else {
      throw TransportOptionError(option: "transfers in the background", library: "Foundation on this platform")
    }
    if let known = await transfers().first(where: { $0.id == record.id }) { return known }
    try Task.checkCancellation()
    let earlier = SingleResult()
    let (begun, mustWait) = state.withLock { state in
      let begun = state.begin(record.id)
      return (begun, begun == nil && state.wait(for: state.starts(of: record.id), earlier))
    }
    guard let start = begun else {
      do { if mustWait { try await earlier.value() } } catch is BackgroundState.StartFailed {
        return try await self.start(record, resumeData: resumeData, make)
      }
      return await transfers().first { $0.id == record.id } ?? record.transfer
    }
    var hasFailed = true
    defer {
      let (waiters, error) = state.withLock { $0.startEnded(start, hasFailed: hasFailed) }
      for waiter in waiters { waiter.finish(error) }
    }
    switch try make() {
    case (let request, nil): try tasks.download(request, resumeData: resumeData, text: record.text)
    case (let request, let body?): try await upload(request, body, record, start, by: tasks)
    }
    hasFailed = false
    return record.transfer
  }

  /// Starts an upload from one file: that of the app if its body is one, otherwise a file of the library's.
  private func upload(
    _ request: URLRequest, _ segments: [BodySegment], _ record: BackgroundRecord, _ start: Int,
    by tasks: any BackgroundTasks
  ) async throws {
    guard request.httpMethod ?? "GET" != "GET" else {
      throw URLError(
        .dataLengthExceedsMaximum, url: request.url, description: "URLSession cannot send a GET with a body.")
    }
    var request = request
    request.httpBodyStream = nil
    request.httpBody = nil
    // The file of a body that was in an offline queue has no name any more.
    if segments.count == 1, case .file(let file)? = segments.first, file.isWhole, (try? FileSegment(file.url)) == file {
      return try tasks.upload(request, from: file.url, text: record.text)
    }
    let (name, folder, state) = ("\(run).\(UUID().uuidString)", spoolFolder, state)
    let file: URL
    do {
      file = try await withTaskCancellationHandler {
        try await makeQueue().run {
          try Self.spool(segments, name, in: folder) { state.withLock { $0.isCancelled(start) } }
        }
      } onCancel: {
        state.withLock { $0.cancelStart(start) }
      }
    } catch {
      throw Task.isCancelled ? CancellationError() : error
    }
    var record = record
    record.spool = file.path
    do {
      // It may have been cancelled since the copy has asked.
      if state.withLock({ $0.isCancelled(start) }) {
        throw Task.isCancelled ? CancellationError() : URLError(.cancelled)
      }
      try tasks.upload(request, from: file, text: record.text)
    } catch {
      unlink(file.path)
      throw error
    }
  }

  private static func spool(
    _ segments: [BodySegment], _ name: String, in folder: URL, _ isCancelled: () -> Bool
  ) throws -> URL {
    try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    unlink(disuse(of: folder).path)
    let url = folder.appendingPathComponent(name)
    guard let file = OpenFile(url.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC) else {
      throw RequestBodyError.fileNotReadable(url, code: errno)
    }
    do {
      let code = try SegmentReader(segments).copy(to: file) { if isCancelled() { throw URLError(.cancelled) } }
      if let code { throw RequestBodyError.fileNotReadable(url, code: code) }
      return url
    } catch {
      unlink(url.path)
      throw error
    }
  }

  /// Removes the copies of a process that was killed before it gave them to the system, and those of sessions that are not
  /// used any more.
  func removeOldCopies(now: Date = Date()) async {
    guard let tasks = tasks.withLock({ $0 }) else { return }
    let needed = Set(
      await tasks.all().compactMap { record($0.text)?.spool.map { URL(fileURLWithPath: $0).lastPathComponent } })
    let (folder, run, now) = (spoolFolder, run, now.timeIntervalSince1970)
    let today = Int((now / 86_400).rounded(.down))
    await makeQueue().run {
      unlink(Self.disuse(of: folder).path)
      // What this process copies has no task yet.
      for name in Self.names(in: folder)
      where UUID(uuidString: String(name.prefix(36))) != nil && !name.hasPrefix(run) && !needed.contains(name) {
        let path = folder.appendingPathComponent(name).path
        guard let written = FileStamp(path: path)?.modified.seconds else { continue }
        // Another app that shares the home directory or the app group may have a session of the same identifier. What its
        // tasks need, which are unknown here, is younger.
        if Double(written) < now - Self.longestLife { unlink(path) }
      }
      Self.removeDisused(beside: folder, today: today)
    }
  }

  /// Removes the folders of other sessions, whose tasks are unknown here, once they were not used for days. The days are
  /// counted, not measured: a clock that jumps adds one, however far.
  private static func removeDisused(beside folder: URL, today: Int) {
    let parent = folder.deletingLastPathComponent()
    for name in names(in: parent) where name.utf8.count == 64 && name != folder.lastPathComponent {
      let other = parent.appendingPathComponent(name, isDirectory: true)
      let note = (try? String(contentsOf: disuse(of: other), encoding: .utf8))?.split(separator: " ") ?? []
      let (days, last) = (note.first.flatMap { Int($0) } ?? 0, note.last.flatMap { Int($0) })
      guard last != today else { continue }
      if days < longestDisuse {
        try? Data("\(days + 1) \(today)".utf8).write(to: disuse(of: other), options: .atomic)
      } else {
        try? FileManager.default.removeItem(at: other)
      }
    }
  }

  /// The file with the number of days on which a folder was not used, and the last of them. Its session removes it.
  private static func disuse(of folder: URL) -> URL { folder.appendingPathComponent("disuse") }

  private static func names(in folder: URL) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
  }

  func transfers() async -> [BackgroundTransfer] {
    guard let tasks = tasks.withLock({ $0 }) else { return [] }
    let all = await tasks.all()
    let current = state.withLock { state in all.filter { !state.hasEnded($0.identifier) } }
    return current.compactMap { task in
      record(task.text).map { $0.transfer.at(task.completedBytes, of: task.totalBytes) }
    }
  }

  /// Cancels transfers, and waits for their end: until then their ids are taken.
  func cancel(_ isMeant: @escaping @Sendable (_ id: String) -> Bool) async {
    guard let tasks = tasks.withLock({ $0 }) else { return }
    // An upload whose body is being copied has no task yet.
    let starts = SingleResult()
    if state.withLock({ $0.wait(for: $0.cancelStarts(isMeant), starts) }) { try? await starts.value() }
    let cancelled = await tasks.cancel { text in self.record(text).map { isMeant($0.id) } ?? false }
    let end = SingleResult()
    // A caller whose task is cancelled does not wait.
    if state.withLock({ $0.wait(for: cancelled, end) }) { try? await end.value() }
  }

  func nextEvent() async -> BackgroundTransferEvent? {
    let id = readers.withLock { $0.increment() }
    return try? await withCancellableContinuation { continuation in
      guard let event = state.withLock({ $0.next(continuation, id: id) }) else { return true }
      continuation.resume(returning: event)
      return false
    } leave: { [state] in
      state.withLock { $0.readers.remove(id) }
    }
  }

  func handleEvents(_ handler: WakeUpHandler) {
    // Without a session there is nothing to wait for.
    let hasTasks = tasks.withLock { $0 != nil }
    call(hasTasks ? state.withLock { $0.handleEvents(handler) } : [handler])
  }

  private func call(_ handlers: [WakeUpHandler]) {
    guard !handlers.isEmpty else { return }
    Task { @MainActor in for handler in handlers { handler.call() } }
  }

  private func record(_ text: String?) -> BackgroundRecord? { BackgroundRecord(text: text, in: places) }

  private func deliver(_ delivery: BackgroundState.Delivery?) {
    if let delivery { delivery.reader.resume(returning: delivery.event) }
  }

  func progressed(_ text: String?, _ completed: Int64, of total: Int64) {
    guard let record = record(text) else { return }
    deliver(state.withLock { $0.progressed(record.transfer.at(completed, of: total)) })
  }

  /// Moves a downloaded file, which the session removes afterwards.
  func downloaded(_ text: String?, to file: URL, _ response: URLResponse?) {
    guard let record = record(text), let destination = record.destinationURL else { return }
    let result = Result { () throws -> NetworkResponse in
      guard let head = response.map({ ResponseHead($0) }), let status = head.statusCode else {
        throw NetworkError.invalidResponse
      }
      guard record.accepts(status) else {
        // Without the body if it is too long.
        let body = OpenFile(file.path, O_RDONLY | O_CLOEXEC)?.contents(upTo: Int64(BackgroundState.longestBody))
        let refusal = CollectedResponse(head: head, data: body ?? Data())
        throw ResponseValidation.httpError(of: refusal, method: nil) ?? NetworkError.invalidResponse
      }
      let part = DownloadHead(head, status: status)
      // RFC 9110 §15.3.7: the part that a server has sent is the file only with what was there before, if anything was.
      if !part.isEncoded, let content = part.contentRange, content.range != nil, let total = content.total,
        let size = OpenFile(file.path, O_RDONLY | O_CLOEXEC)?.size, size != total
      {
        throw DownloadError.incomplete(received: size, announced: total)
      }
      try Self.move(file, to: destination, replacing: record.replacesFile)
      return NetworkResponse(CollectedResponse(head: head, data: Data()))
    }
    state.withLock { $0.downloaded(record.id, result) }
  }

  func received(_ text: String?, _ data: Data) {
    guard let record = record(text) else { return }
    state.withLock { $0.received(record.id, data) }
  }

  func completed(_ task: BackgroundTaskStatus, _ response: URLResponse?, _ error: (any Error)?, resumeData: Data?) {
    guard let record = record(task.text) else { return }
    if let spool = record.spool { unlink(spool) }
    let transfer = record.transfer.at(task.completedBytes, of: task.totalBytes)
    let (delivery, waiters) = state.withLock { state in
      let delivery = state.completed(
        record, transfer, head: response.map { ResponseHead($0) },
        error: error.map { URLError.mapped($0, url: nil) }, resumeData: resumeData)
      return (delivery, state.ended(task.identifier))
    }
    deliver(delivery)
    for waiter in waiters { waiter.finish(nil) }
  }

  func finishedEvents() { call(state.withLock { $0.finishedEvents() }) }

  private static func move(_ file: URL, to destination: URL, replacing: Bool) throws(DownloadError) {
    do throws(DownloadError) {
      guard try PartialFile.move(file, to: destination, replacing: replacing) else { throw .fileExists(destination) }
    } catch .notWritable(_, code: EXDEV) {
      // Another file system: a copy beside the destination is moved, in place of one that a killed process has left.
      let copy = try PartialFile(for: destination, isCopy: true)
      defer { copy.discard() }
      let length = try copy.copy(file)
      guard try copy.finish(length: length, replacing: replacing, synchronizing: false) else {
        throw .fileExists(destination)
      }
    }
  }
}

extension BackgroundTransfer {
  /// Returns the transfer with its numbers of bytes; a total that is not positive is unknown.
  fileprivate func at(_ completed: Int64, of total: Int64) -> BackgroundTransfer {
    BackgroundTransfer(id: id, destination: destination, completedBytes: completed, totalBytes: total > 0 ? total : nil)
  }
}
