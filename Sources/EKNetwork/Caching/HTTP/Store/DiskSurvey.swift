import Foundation

/// A survey of the folder of a store: each response with its bodies, their sizes, and when they were used.
struct DiskSurvey {
  /// The age in seconds at which an unchanged temporary file, or a body without a response, counts as abandoned.
  private static let abandonedAge: TimeInterval = 3600

  struct Response {
    /// The path of the record, relative to the store's folder.
    var name: String
    /// The body files of the response: at most one, unless two processes have stored it at the same time.
    var bodies: [String] = []
    var bytes: Int64 = 0
    /// The time of the record's last use; 0 if there is no record.
    var used = 0.0
    /// The time at which the newest of the bodies was written.
    var written = 0.0

    var hasRecord: Bool { used > 0 }
    /// Whether there is a record with at most one body: otherwise the record is missing, or two processes have stored
    /// the response at the same time, and which body belongs to the record is not known here.
    var isClear: Bool { bodies.count < (hasRecord ? 2 : 1) }
  }

  private(set) var responses: [Response] = []
  /// Temporary files whose process has exited, and unreferenced files that were unchanged for long.
  private(set) var abandoned: [String] = []
  /// The size of all other files.
  private(set) var bytes: Int64 = 0

  init(_ folder: DiskFolder, now: Date = Date()) {
    let limit = now.timeIntervalSince1970 - Self.abandonedAge
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

  /// Removes the least recently used responses until the size is within the limit, and returns the remaining size.
  func evict(downTo limit: Int64, _ remove: (String) -> Void) -> Int64 {
    var rest = bytes
    guard rest > limit else { return rest }
    func time(_ response: Response) -> Double { max(response.used, response.hasRecord ? 0 : response.written) }
    for response in responses.sorted(by: { time($0) < time($1) }) where rest > limit {
      // The record first: a body without a record cannot be found.
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
