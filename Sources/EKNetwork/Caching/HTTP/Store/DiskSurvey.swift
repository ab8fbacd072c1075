import Foundation

/// What lies in the folder of a store: each response with its bodies, how much they take, and when they were used.
struct DiskSurvey {
  /// In seconds. A temporary file, or a body without a response, without change for so long is left over.
  private static let patience: TimeInterval = 3600

  struct Response {
    /// The record, within the store's folder.
    var name: String
    /// The files of bodies beside it: one at most, unless two processes have stored it at the same time.
    var bodies: [String] = []
    var bytes: Int64 = 0
    /// When the record was used; 0 without one.
    var used = 0.0
    /// When the youngest of the bodies was written.
    var written = 0.0

    var hasRecord: Bool { used > 0 }
    /// Whether one body alone belongs to it, or none: else two processes have stored it at the same time, and which of
    /// the bodies is the record's is not known here.
    var isClear: Bool { bodies.count < (hasRecord ? 2 : 1) }
  }

  private(set) var responses: [Response] = []
  /// Temporary files whose process is no more, and what belongs to nothing and was not touched for long.
  private(set) var abandoned: [String] = []
  /// What everything else takes.
  private(set) var bytes: Int64 = 0

  init(_ folder: DiskFolder, now: Date = Date()) {
    let limit = now.timeIntervalSince1970 - Self.patience
    for name in folder.names() {
      if DiskFolder.isTemporary(name) {
        guard let (size, time) = Self.status(folder.full(name)) else { continue }
        if time < limit || DiskFolder.isOrphan(name) { abandoned.append(name) } else { bytes += size }
      } else {
        add(folder, name, limit)
      }
    }
  }

  private mutating func add(_ folder: DiskFolder, _ name: String, _ limit: Double) {
    var found: [Substring: Response] = [:]
    for file in folder.names(in: name) {
      guard let (size, time) = Self.status(folder.full("\(name)/\(file)")) else { continue }
      let record = file.prefix { $0 != "." }
      var response = found[record] ?? Response(name: "\(name)/\(record)")
      response.bytes += size
      if record.utf8.count == file.utf8.count {
        response.used = time
      } else {
        response.bodies.append("\(name)/\(file)")
        response.written = max(response.written, time)
      }
      found[record] = response
    }
    for response in found.values {
      if response.isClear || response.written >= limit {
        responses.append(response)
        bytes += response.bytes
      } else {
        abandoned += (response.hasRecord ? [response.name] : []) + response.bodies
      }
    }
  }

  /// Removes responses, what was not used for longest first, until no more than that is left, and returns what is.
  func evict(downTo limit: Int64, _ remove: (String) -> Void) -> Int64 {
    var rest = bytes
    guard rest > limit else { return rest }
    func time(_ response: Response) -> Double { max(response.used, response.hasRecord ? 0 : response.written) }
    for response in responses.sorted(by: { time($0) < time($1) }) where rest > limit {
      // First the record: a body without one cannot be found.
      if response.hasRecord { remove(response.name) }
      for body in response.bodies { remove(body) }
      rest -= response.bytes
    }
    return rest
  }

  private static func status(_ path: String) -> (size: Int64, time: Double)? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return (DiskUsage.size(Int64(status.st_size)), Double(time.tv_sec) + Double(time.tv_nsec) / 1e9)
  }
}
