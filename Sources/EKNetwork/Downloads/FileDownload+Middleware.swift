import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension RequestRunner.ResponseAdapter where Success == DownloadedFile {
  /// What `next` has loaded is in its file already, whatever middleware makes of the response.
  static func downloaded(by download: FileDownload, over exchange: Exchange) -> Self {
    Self(
      response: { NetworkMiddlewareResponse(statusCode: $0.statusCode ?? 200, headers: $0.headers) },
      answer: { response, request, last in
        if let last { return .success(last) }
        var given = exchange
        given.transport = GivenResponse(response: response, wire: exchange.transport)
        return try await download.attempt(request, over: given)
      })
  }
}
