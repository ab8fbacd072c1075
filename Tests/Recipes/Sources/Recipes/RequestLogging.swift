import EKNetwork
import Logging

extension NetworkManager {
  /// Writes what happens to requests to a logger: no token, header value, body or value of a query is in it.
  nonisolated func log(to logger: Logger) {
    logHandler = { entry in
      let level: Logger.Level =
        switch entry.level {
        case .debug: .debug
        case .info: .info
        case .error: .error
        }
      // An autoclosure: a level that is off costs nothing.
      logger.log(level: level, "\(entry.message)", metadata: entry.metadata.mapValues { .string($0) })
    }
  }
}
