import Testing

@testable import EKNetwork

struct DiskStoreTests {
  private let folder: ScratchFolder
  private let store: DiskStore
  private let location = DiskStoreTests.location("")

  init() throws {
    folder = try ScratchFolder()
    store = DiskStore(directory: folder.url, capacity: 10_000_000) { _ in }
  }

  private static func location(_ path: String) -> CacheLocation {
    CacheLocation(url: "http://a.example/\(path)", identity: .anonymous, directives: CacheDirectives(nil))
  }

  private func response(_ selector: String? = nil, at time: Double = 1_000_000) -> StoredResponse {
    response(selector, at: Date(timeIntervalSince1970: time))
  }

  private func response(_ selector: String?, at date: Date) -> StoredResponse {
    let selectors = selector.map { [VaryingFields.Selector(name: "accept", value: $0)] } ?? []
    let tag = "\"\(date.timeIntervalSince1970)\""
    return StoredResponse(
      status: 200, reason: "OK", fields: HeaderFieldList([("ETag", tag), ("Cache-Control", "max-age=60")]),
      requestTime: date, responseTime: date, varying: VaryingFields(selectors: selectors, language: nil),
      identity: .anonymous)
  }

  private func found(_ selects: (StoredResponse) -> Bool = { _ in true }) -> (StoredResponse, Data?)? {
    guard let entry = store.find([location], where: selects).found?.entry else { return nil }
    if case .data(let data) = entry.body { return (entry.response, data) }
    return (entry.response, nil)
  }

  @Test func newestDuplicateVariantIsUsed() {
    // Two processes that store at the same time may leave the same variant twice.
    for (number, time) in [(0, 2.0), (3, 3.0), (5, 1.0)] {
      let old = response(at: time)
      let record = DiskRecord(DiskName(location).key, old, body: Data("\(number)".utf8))
      store.store(response("x"), .data(Data()), at: location)
      let bytes = record.encoded() + Data("\(number)".utf8)
      #expect(store.folder.write(bytes, as: DiskName(location).path(number)) == true)
    }
    #expect(found { $0.varying.selectors.isEmpty }?.1 == Data("3".utf8))
    // The next store replaces all of them.
    store.store(response(at: 4), .data(Data("new".utf8)), at: location)
    #expect(found { $0.varying.selectors.isEmpty }?.1 == Data("new".utf8))
    store.remove(response(at: 4), at: location)
    #expect(found { $0.varying.selectors.isEmpty } == nil)
  }

  @Test func removalThatFailsIsReported() throws {
    let failures = Locked<[String]>([])
    let store = DiskStore(directory: folder.url, capacity: 10_000_000) { failure in
      failures.withLock { $0.append(failure.path) }
    }
    #expect(store.folder.prepare())
    // A directory, which cannot be removed like a file.
    let path = store.folder.full(DiskName(location).path(0))
    try FileManager.default.createDirectory(at: URL(fileURLWithPath: path), withIntermediateDirectories: true)
    store.removeAll(of: location.url)
    #expect(failures.withLock { $0 } == [path])
  }

  @Test func responseWhoseRemovalFailedIsNotFoundAfterwards() throws {
    store.store(response(), .data(Data("old".utf8)), at: location)
    let (path, kept) = (store.folder.full(DiskName(location).path(0)), folder["kept"].path)
    // A directory, which cannot be removed like a file, in its place meanwhile.
    #expect(rename(path, kept) == 0 && mkdir(path, 0o700) == 0)
    store.removeAll(of: location.url)
    #expect(found() == nil)
    #expect(rmdir(path) == 0 && rename(kept, path) == 0)
    #expect(found() == nil)
    // What is stored since is found.
    #expect(mkdir(path, 0o700) == 0)
    store.removeAll(of: location.url)
    #expect(rmdir(path) == 0)
    store.store(response(at: 2_000_000), .data(Data("new".utf8)), at: location)
    #expect(found()?.1 == Data("new".utf8))
  }

  @Test func bodyIsReadUntilItIsCancelled() async throws {
    let content = Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0) })
    var bytes = Data()
    for index in 0..<2 {
      let start = index * DiskBody.blockSize
      let block = content.subdata(in: start..<min(start + DiskBody.blockSize, content.count))
      let digest = block.withUnsafeBytes { DiskBody.digest(of: $0, at: Int64(index), of: 7) }
      bytes += block
      withUnsafeBytes(of: digest.littleEndian) { bytes.append(contentsOf: $0) }
    }
    let file = try folder.file("body", bytes)
    let opened = DiskBody(file.path, number: 7, length: Int64(content.count)) {}
    let body = try #require(opened)
    let reader = DiskBodyReader(body, range: 1..<Int64(content.count), remainder: nil)
    var read = Data()
    while let block = try await reader.next() { read += block }
    #expect(read == content.dropFirst())
    let cancelled = DiskBodyReader(body, range: 0..<1, remainder: nil)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { _ = try await cancelled.next() }
  }

  /// The server has named the range that was requested, and sends less or more.
  @Test(arguments: [-1, 0, 1]) func restOfDamagedBodyHasTheLengthOfItsRange(_ surplus: Int) async throws {
    let file = try folder.file("body", Data(count: 100 + DiskBody.digestSize))
    let opened = DiskBody(file.path, number: 7, length: 100) {}
    let reader = DiskBodyReader(try #require(opened), range: 10..<100) { range in
      BufferedBody(Data(count: range.count + surplus))
    }
    var count = 0
    do {
      while let chunk = try await reader.next() { count += chunk.count }
      #expect(surplus == 0 && count == 90)
    } catch let error as URLError {
      #expect(surplus != 0 && error.code == .networkConnectionLost)
    }
  }

  @Test func onlyCurrentVersionIsRenewed() {
    let first = response(at: 1)
    store.store(first, .data(Data("one".utf8)), at: location)
    store.renew(first, as: response(at: 2), at: location)
    #expect(found()?.0.responseTime == Date(timeIntervalSince1970: 2) && found()?.1 == Data("one".utf8))
    store.store(response(at: 3), .data(Data("two".utf8)), at: location)
    // Another process has stored a new version meanwhile: a 304 for the old one does not apply to it.
    store.renew(response(at: 2), as: response(at: 4), at: location)
    #expect(found()?.0.responseTime == Date(timeIntervalSince1970: 3) && found()?.1 == Data("two".utf8))
  }

  /// What is replaced or removed while a confirmation is written stays so.
  @Test func fileIsOnlyReplacedIfThatIsStillWanted() throws {
    #expect(store.folder.write(Data("one".utf8), as: "a") == true)
    #expect(store.folder.write(Data("two".utf8), as: "a") { false } == nil)
    #expect(try Data(contentsOf: URL(fileURLWithPath: store.folder.full("a"))) == Data("one".utf8))
    #expect(store.folder.names() == ["a"])
  }

  @Test func lateResponseRemovesOnlyItsOwnRecord() {
    store.store(response(at: 2), .data(Data("two".utf8)), at: location)
    store.remove(response(at: 1), at: location, isOwn: true)
    #expect(found()?.1 == Data("two".utf8))
    store.remove(response(at: 2), at: location, isOwn: true)
    #expect(found() == nil)
  }

  @Test func earlierRequestDoesNotReplaceLaterOne() {
    #expect(store.store(response(at: 2), .data(Data("two".utf8)), at: location) == .stored)
    #expect(store.store(response(at: 1), .data(Data("one".utf8)), at: location) == .superseded)
    #expect(store.store(response("x", at: 1), .data(Data()), at: location) == .stored)
    #expect(found { $0.varying.selectors.isEmpty }?.1 == Data("two".utf8))
    // The clock was set back since.
    let now = Date(timeIntervalSince1970: 1)
    #expect(store.store(response(at: 1), .data(Data("one".utf8)), at: location, now: now) == .stored)
    #expect(found { $0.varying.selectors.isEmpty }?.1 == Data("one".utf8))
  }

  /// A time in a file is less precise than that in memory.
  @Test func responseOfAnyTimeIsRenewed() {
    for step in 0..<200 {
      let time = Date(timeIntervalSinceReferenceDate: 800_000_000 + Double(step) * 0.123_456_789)
      let first = response("a", at: time)
      store.store(first, .data(Data()), at: location)
      store.renew(first, as: response("a", at: time + 1), at: location)
      #expect(found().map { $0.0.responseTime > time } == true)
    }
  }

  @Test func misplacedBlocksAreRejected() throws {
    let size = 5 * DiskBody.blockSize
    for index in 0..<2 {
      store.store(response("\(index)", at: Double(index)), .data(Data(count: size)), at: location)
    }
    #expect(found()?.1 == Data(count: size))
    let names = store.folder.names(in: DiskName(location).folder).filter { $0.contains(".") }.sorted()
    let paths = names.map { store.folder.full("\(DiskName(location).folder)/\($0)") }
    // Same bytes and length, but from another response.
    let other = try Data(contentsOf: URL(fileURLWithPath: paths[0]))
    try other.write(to: URL(fileURLWithPath: paths[1]))
    #expect(found { $0.varying.selectors.first?.value == "1" } == nil)
    #expect(found { $0.varying.selectors.first?.value == "0" } != nil)
    // Same response, but from another offset.
    let block = DiskBody.blockSize + DiskBody.digestSize
    try (other.dropFirst(block).prefix(block) + other.dropFirst(block)).write(to: URL(fileURLWithPath: paths[0]))
    #expect(found { $0.varying.selectors.first?.value == "0" } == nil)
  }

  @Test func surveyFindsAbandonedFiles() throws {
    let name = DiskName(location)
    store.store(response(), .data(Data(count: 100_000)), at: location)
    #expect(store.folder.write(Data("x".utf8), as: "\(name.path(1)).77") == true)
    #expect(store.folder.write(Data("x".utf8), as: "new-x") == true)
    var survey = DiskSurvey(store.folder)
    #expect(survey.abandoned.isEmpty && survey.responses.count == 2)
    survey = DiskSurvey(store.folder, now: Date(timeIntervalSinceNow: 4000))
    #expect(Set(survey.abandoned) == ["new-x", "\(name.path(1)).77"] && survey.responses.count == 1)
    // No process has this ID.
    #expect(DiskFolder.isOrphan("new-\(pid_t.max)-1") && !DiskFolder.isOrphan("new-\(getpid())-1"))
    #expect(!DiskFolder.isOrphan("new-x") && !DiskFolder.isOrphan("new--1"))
    // One of two bodies is abandoned; the survey cannot tell which.
    #expect(store.folder.write(Data("x".utf8), as: "\(name.path(0)).77") == true)
    survey = DiskSurvey(store.folder, now: Date(timeIntervalSinceNow: 4000))
    #expect(survey.abandoned.count == 5 && survey.responses.isEmpty)
  }

  @Test func leastRecentlyUsedIsEvictedFirst() {
    for index in 0..<6 {
      store.store(
        response(), .data(Data(count: 5000)), at: Self.location("\(index)"))
      let path = store.folder.full(DiskName(Self.location("\(index)")).path(0))
      let times = [timeval(tv_sec: 1000 + index, tv_usec: 0), timeval(tv_sec: 1000 + index, tv_usec: 0)]
      #expect(utimes(path, times) == 0)
    }
    _ = store.find([Self.location("0")]) { _ in true }
    var removed: [String] = []
    let rest = DiskSurvey(store.folder).evict(downTo: 4 * 8192) { removed.append($0) }
    let expected = [1, 2].map { DiskName(Self.location("\($0)")).path(0) }
    #expect(removed == expected && rest == 4 * 8192)
  }

  @Test func usageTracksStoredBytes() {
    var usage = DiskUsage(capacity: 1000 * 4096)
    func add(_ size: Int64) -> Bool { usage.add(size) }
    func surveyed(_ left: Int64) -> Bool { usage.surveyed(left) }
    #expect(add(4096), "at first, somebody has to look")
    #expect(!add(4096) && !usage.isExceeded)
    #expect(!surveyed(990 * 4096))
    #expect(!usage.isExceeded && !add(4096))
    #expect(add(10 * 4096) && usage.isExceeded, "too much")
    #expect(usage.hasPlace(for: 4096 * 100) && !usage.hasPlace(for: 4096 * 251))
    for _ in 0..<480 { #expect(!add(4096)) }
    #expect(!usage.hasPlace(for: 4096 * 100), "what makes place is late")
    #expect(surveyed(900 * 4096) && usage.isExceeded, "too much was written meanwhile")
    #expect(!usage.hasPlace(for: 4096 * 250) && !add(4096))
    #expect(!surveyed(100))
    for _ in 0..<124 { #expect(!add(4096)) }
    #expect(add(2 * 4096), "others may have written as well")
    #expect(!DiskUsage(capacity: 0).hasPlace(for: 0) && !DiskUsage(capacity: -1).hasPlace(for: 0))
  }

  @Test func bodyBeingWrittenTakesPlace() {
    var usage = DiskUsage(capacity: 1000 * 4096)
    _ = usage.add(0)
    _ = usage.surveyed(900 * 4096)
    func reserve(_ size: Int64) -> Bool { usage.reserve(size, for: size) }
    #expect(!reserve(251 * 4096), "more than a quarter")
    for _ in 0..<3 { #expect(reserve(125 * 4096)) }
    #expect(!usage.isExceeded, "nothing can be evicted for it")
    #expect(!reserve(4096) && usage.hasPlace(for: 0), "what exceeds the capacity has to cause its eviction")
    usage.release(125 * 4096)
    #expect(reserve(125 * 4096) && !reserve(4096))
  }

  @Test func bodiesBeingWrittenDoNotEvictResponses() throws {
    let locations = (0..<70).map { Self.location("\($0)") }
    func keep(_ location: CacheLocation) { store.store(response(), .data(Data(count: 100_000)), at: location) }
    for location in locations.prefix(3) { keep(location) }
    store.settle()
    var writers = (0..<6).compactMap { _ in store.bodyWriter(for: 600_000) }
    for writer in writers { #expect(writer.append(Data(count: 600_000))) }
    #expect(writers.count == 6)
    // So many that the folder is surveyed once more.
    for location in locations.dropFirst(3) { keep(location) }
    store.settle()
    for location in locations { #expect(store.find([location]) { _ in true }.found != nil) }
    #expect(store.bodyWriter(for: 2_000_000) == nil)
    writers.removeAll()
    #expect(store.bodyWriter(for: 2_000_000) != nil && store.bodyWriter(for: 2_500_001) == nil)
    #expect(store.folder.names().allSatisfy { !DiskFolder.isTemporary($0) })
  }

  @Test func crc32MatchesStandard() {
    #expect(CRC32.of(Data("123456789".utf8)) == 0xCBF4_3926)
    #expect(CRC32.of(Data()) == 0)
    var parts = CRC32()
    for part in ["1", "2345", "6789"] { Data(part.utf8).withUnsafeBytes { parts.add($0) } }
    #expect(parts.value == 0xCBF4_3926)
  }

  @Test func corruptedRecordIsRejected() {
    let good = DiskRecord("key", response("x"), body: Data()).encoded()
    #expect(good.withUnsafeBytes { DiskRecord.read($0)?.record.encoded() } == good)
    for count in 0..<good.count { #expect(good.prefix(count).withUnsafeBytes { DiskRecord.read($0) } == nil) }
    for _ in 0..<200 {
      var bytes = good
      bytes[Int.random(in: bytes.indices)] ^= UInt8.random(in: 1...255)
      #expect(bytes.withUnsafeBytes { DiskRecord.read($0) } == nil)
    }
  }
}
