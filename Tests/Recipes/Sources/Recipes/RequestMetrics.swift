import EKNetwork
import Metrics

extension NetworkManager {
  /// Counts and times requests. The dimensions have few values; a URL would have as many as there are users.
  nonisolated func measure() {
    eventHandler = { event in
      switch event.kind {
      case .retrying:
        Counter(label: "http_client_retries", dimensions: [("method", event.method)]).increment()
      case .finished(let status, let bytes, let timings):
        let dimensions = [("method", event.method), ("status", "\(status)")]
        Metrics.Timer(label: "http_client_request_duration", dimensions: dimensions).record(duration: event.elapsed)
        Recorder(label: "http_client_response_size", dimensions: dimensions).record(bytes)
        if timings.isConnectionReused == false { Counter(label: "http_client_connections").increment() }
      case .failed(let error):
        let dimensions = [("method", event.method), ("error", "\(type(of: error))")]
        Counter(label: "http_client_failures", dimensions: dimensions).increment()
      case .attemptStarted, .redirected, .refreshingToken: break
      }
    }
  }
}
