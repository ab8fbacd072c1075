import Foundation

/// A stored response with its body.
struct CacheEntry: Sendable {
  var response: StoredResponse
  var body: CachedBody
  /// The approximate memory usage, in bytes.
  let cost: Int

  init(response: StoredResponse, body: CachedBody) {
    self.response = response
    self.body = body
    let fields = response.fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 64 }
    cost = Int(clamping: body.length) + fields + 512
  }

  init(response: StoredResponse, body: Data) { self.init(response: response, body: .data(body)) }

  var length: Int64 { body.length }
}

/// The body of a stored response: in memory, or in a file that is read on demand.
enum CachedBody: Sendable {
  case data(Data)
  case file(DiskBody)

  var length: Int64 {
    switch self {
    case .data(let data): Int64(data.count)
    case .file(let file): file.length
    }
  }

  /// Returns a body that reads a range of bytes.
  ///
  /// - Parameter remainder: Fetches the rest from elsewhere, from an offset on, if the file turns out to be damaged in
  ///   the middle of the range.
  func reader(_ range: Range<Int64>, remainder: DiskBodyReader.Remainder?) -> any TransportBody {
    guard !range.isEmpty else { return BufferedBody(Data()) }
    switch self {
    case .file(let file): return DiskBodyReader(file, range: range, remainder: remainder)
    case .data(let data):
      guard range != 0..<length else { return BufferedBody(data) }
      let start = data.startIndex
      return BufferedBody(data.subdata(in: (start + Int(range.lowerBound))..<(start + Int(range.upperBound))))
    }
  }
}

/// The location of responses in the cache: a URL, and the partition that belongs to one identity.
struct CacheLocation: Sendable, Hashable {
  let url: String
  let partition: String
  /// ``RequestIdentity/trust``, which is part of every partition.
  let trust: String?

  /// Returns the key of everything that is stored for a URL.
  static func key(of url: URL) -> String { url.normalized?.string ?? url.absoluteString }

  /// The user of responses that all may share who trust the same servers.
  private static let everybody = "*"
  private static let nobody = ""

  init(url: String, identity: RequestIdentity, directives: CacheDirectives) {
    self.init(url, directives.isShareable ? Self.everybody : Self.user(of: identity), identity)
  }

  private init(_ url: String, _ user: String, _ identity: RequestIdentity) {
    self.url = url
    partition = user + (identity.trust.map { "+" + $0 } ?? "")
    trust = identity.trust
  }

  /// Returns the locations at which to look for a response, in order.
  static func candidates(url: String, identity: RequestIdentity) -> [CacheLocation] {
    var users = [user(of: identity)]
    if !identity.isAnonymous, identity.credentials == nil { users.append(nobody) }
    users.append(everybody)
    return users.map { CacheLocation(url, $0, identity) }
  }

  private static func user(of identity: RequestIdentity) -> String {
    identity.isAnonymous ? nobody : "\(identity.credentials ?? "-").\(identity.cookies ?? "-")"
  }
}

/// Collects a body that is to be stored: in memory while it is small, then in a file.
///
/// Not Sendable: owned by the body that is being read.
final class BodyGatherer {
  /// The largest part of a body that is kept in memory if there is a disk store.
  static let greatestBuffer: Int64 = 256 * 1024
  private static let greatestReservation: Int64 = 1024 * 1024

  enum Content {
    case data(Data)
    case written(DiskBodyWriter)
  }

  private let memoryLimit: Int64
  private let disk: DiskStore?
  private let expected: Int64
  private var bufferLimit: Int64
  private var data = Data()
  private var writer: DiskBodyWriter?

  init(memoryLimit: Int64, disk: DiskStore?, expected: Int64?) {
    self.memoryLimit = memoryLimit
    self.disk = disk
    self.expected = expected ?? 0
    bufferLimit = disk == nil ? memoryLimit : Self.greatestBuffer
    // The server may announce more than it sends.
    data.reserveCapacity(Int(clamping: min(expected ?? 0, bufferLimit, Self.greatestReservation)))
  }

  /// Appends a chunk; returns `false` if the body cannot be stored.
  func append(_ chunk: Data) -> Bool {
    let count = Int64(data.count) + Int64(chunk.count)
    if writer == nil, count > bufferLimit {
      // All of it is reserved now: of several bodies that do not fit together, some are stored.
      writer = disk?.bodyWriter(for: max(expected, count))
      if writer == nil {
        // Without a file the body can still be kept in memory.
        bufferLimit = memoryLimit
      } else {
        guard write(exchange(&data, with: Data())) else { return false }
      }
    }
    if writer != nil { return write(chunk) }
    guard count <= bufferLimit else { return false }
    data.append(chunk)
    return true
  }

  func finish() -> Content { writer.map { .written($0) } ?? .data(data) }

  private func write(_ chunk: Data) -> Bool {
    guard let disk, let writer, writer.reserve(chunk.count) else { return false }
    if writer.append(chunk) { return true }
    disk.failedToWrite(errno)
    return false
  }
}
