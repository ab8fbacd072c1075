import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension DownloadedFile {
  /// The status that middleware receives: a 416 to a request for the rest of a complete file counts as a success.
  fileprivate var successfulStatus: Int { statusCode.flatMap { StatusCodes.successful.contains($0) ? $0 : nil } ?? 200 }
}

extension RequestRunner.ResponseAdapter where Success == DownloadedFile {
  /// Adapts a download to middleware. What `next` has downloaded is in the file already, whatever body middleware gives
  /// the response.
  static func downloaded(by download: FileDownload, over exchange: Exchange) -> Self {
    Self(
      response: { NetworkMiddlewareResponse(statusCode: $0.successfulStatus, headers: $0.headers) },
      outcome: { response, request, last in
        let status = response.head.statusCode ?? 0
        guard StatusCodes.successful.contains(status) else { return try await RequestRunner.refusal(response) }
        guard let file = last else {
          var given = exchange
          given.transport = FixedResponseTransport(response: response, wire: exchange.transport)
          return try await download.attempt(request, over: given)
        }
        let headers = (response.head.urlResponse as? HTTPURLResponse)?.headerDictionary ?? file.headers
        if status == file.successfulStatus, headers == file.headers { return .success(file) }
        return .success(
          DownloadedFile(
            url: file.url, size: file.size, statusCode: status == file.successfulStatus ? file.statusCode : status,
            headers: headers, resumedBytes: file.resumedBytes))
      })
  }
}
