#if canImport(Darwin)
  import CSession
  import Foundation

  final class SystemBackgroundTasks: BackgroundTasks {
    private let session: URLSession

    init(_ identifier: String, _ options: BackgroundTransferOptions, center: BackgroundCenter) {
      let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
      configuration.sharedContainerIdentifier = options.appGroup
      configuration.isDiscretionary = options.isDiscretionary
      configuration.sessionSendsLaunchEvents = options.sendsLaunchEvents
      configuration.allowsCellularAccess = options.allowsCellularAccess
      // Otherwise those of the process are sent and stored. Each request has the cookies of its manager.
      configuration.httpCookieStorage = nil
      configuration.httpShouldSetCookies = false
      // Without a queue of its own, the session creates a serial one.
      session = URLSession(configuration: configuration, delegate: BackgroundDelegate(center), delegateQueue: nil)
    }

    func download(_ request: URLRequest, resumeData: Data?, text: String) throws {
      let resumed = resumeData.flatMap { ekn_resumed_task(session, $0) }
      try start(resumed ?? ekn_transfer_task(session, request, nil), text)
    }

    func upload(_ request: URLRequest, from file: URL, text: String) throws {
      try start(ekn_transfer_task(session, request, file), text)
    }

    private func start(_ task: URLSessionTask?, _ text: String) throws {
      guard let task else {
        throw URLError.unusable(nil, "The session accepts no transfers. That of an app extension needs an app group.")
      }
      task.taskDescription = text
      task.resume()
    }

    private func tasks() async -> [URLSessionTask] {
      await withCheckedContinuation { continuation in
        session.getAllTasks { continuation.resume(returning: $0) }
      }
    }

    func all() async -> [BackgroundTaskStatus] { await tasks().map { BackgroundTaskStatus($0) } }

    func cancel(_ isMeant: @escaping @Sendable (_ text: String?) -> Bool) async -> Set<Int> {
      let meant = await tasks().filter { isMeant($0.taskDescription) }
      for task in meant { task.cancel() }
      return Set(meant.map(\.taskIdentifier))
    }
  }

  /// The delegate of a background session. Its methods are called on the session's queue, one at a time.
  ///
  /// Sendable: all that it stores is constant.
  private final class BackgroundDelegate: NSObject, URLSessionDownloadDelegate, URLSessionDataDelegate {
    private let center: BackgroundCenter

    init(_ center: BackgroundCenter) { self.center = center }

    func urlSession(
      _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
      totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
      center.progressed(downloadTask.taskDescription, totalBytesWritten, of: totalBytesExpectedToWrite)
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
      center.downloaded(downloadTask.taskDescription, to: location, downloadTask.response)
    }

    func urlSession(
      _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
      totalBytesExpectedToSend: Int64
    ) {
      center.progressed(task.taskDescription, totalBytesSent, of: totalBytesExpectedToSend)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
      center.received(dataTask.taskDescription, data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
      let resumeData = (error as NSError?)?.userInfo[NSURLSessionDownloadTaskResumeData] as? Data
      center.completed(BackgroundTaskStatus(task), task.response, error, resumeData: resumeData)
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { center.finishedEvents() }
  }

  extension BackgroundTaskStatus {
    fileprivate init(_ task: URLSessionTask) {
      let isUpload = task is URLSessionUploadTask
      identifier = task.taskIdentifier
      text = task.taskDescription
      completedBytes = isUpload ? task.countOfBytesSent : task.countOfBytesReceived
      totalBytes = isUpload ? task.countOfBytesExpectedToSend : task.countOfBytesExpectedToReceive
    }
  }
#endif
