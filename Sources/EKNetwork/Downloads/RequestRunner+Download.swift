import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestRunner {
  /// Downloads a file and returns it after the first attempt that completes it.
  nonisolated(nonsending) func download<T: NetworkRequest>(
    _ request: T, to destination: URL, options: DownloadOptions, baseURL: @escaping () -> URL,
    accessToken: (() -> String?)?
  ) async throws -> DownloadedFile {
    try Task.checkCancellation()
    let kept = try FileDownload.existing(at: destination, options: options)
    let progress = request.progress.map { ProgressReporter($0) }
    if let kept {
      progress?.succeeded()
      return kept
    }
    let log = log(request.methodName)
    let download = try FileDownload(
      to: destination, options: options, limit: request.maximumResponseSize, progress: progress)
    // Progress counts the bytes in the file, which the download reports itself.
    // Only a success is the file.
    let exchange = exchange(for: request, accepting: .successful, baseURL: baseURL, progress: nil, log: log)
    do {
      let file = try await call(
        of: source(request, baseURL, accessToken, accept: RequestBuilder.anything), policy: request.retryPolicy,
        over: exchange, adapter: .downloaded(by: download, over: exchange)
      ) { try await download.attempt($0, over: $1) }
      progress?.succeeded()
      log?.finished(status: file.statusCode ?? 0, bytes: file.size - file.resumedBytes, timings: nil)
      return file
    } catch {
      await download.failed()
      log?.failed(error)
      throw error
    }
  }
}
