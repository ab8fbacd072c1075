import EKNetwork
import Logging

extension NetworkManager {
  /// Logs the events of requests to a logger, without tokens, header values, bodies and query values.
  nonisolated func log(to logger: Logger) {
    logHandler = { entry in
      let level: Logger.Level =
        switch entry.level {
        case .debug: .debug
        case .info: .info
        case .error: .error
        }
      // An autoclosure, so that a disabled level costs nothing.
      logger.log(level: level, "\(entry.message)", metadata: entry.metadata.mapValues { .string($0) })
    }
  }
}
