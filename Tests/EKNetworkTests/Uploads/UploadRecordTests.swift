import Foundation
import Testing

@testable import EKNetwork

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

struct UploadRecordTests {
  private let folder: ScratchFolder
  private var file: URL { folder["state"] }

  init() throws { folder = try ScratchFolder() }

  private func record() throws -> UploadRecord {
    let url = try #require(URL(string: "https://a.example/files?secret=1"))
    return UploadRecord(HopRequest(URLRequest(url: url)), UploadOptions(using: .tus), file: "stamp", salt: "salt")
  }

  @Test func recordIsRememberedByItsOwnerOnly() throws {
    var opened = try UploadRecordFile(file)
    #expect(opened.record == nil)
    let record = try record()
    opened.save(record)
    #expect(folder.names == ["state"])
    let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    #expect(try !String(contentsOf: file, encoding: .utf8).contains("secret"))
    // Saving has replaced the file, and the lock is on the new one.
    #expect(throws: UploadError.alreadyUploading(file)) { try UploadRecordFile(file) }
    opened = try UploadRecordFile(folder["other"])
    #expect(try UploadRecordFile(file).record == record)
  }

  /// A process was killed while it saved a record.
  @Test func unfinishedRecordIsRemoved() throws {
    var opened = try UploadRecordFile(file)
    try opened.save(record())
    let start = ".\(SHA256.hexadecimal(Array("state".utf8)))."
    let rest = start + UUID().uuidString + ".upload"
    try folder.file(rest, Data("half".utf8))
    // Those who do not have the lock leave it alone.
    #expect(throws: UploadError.alreadyUploading(file)) { try UploadRecordFile(file) }
    #expect(folder.names == [rest, "state"])
    opened = try UploadRecordFile(folder["other"])
    #expect(try UploadRecordFile(file).record == record())
    #expect(folder.names == ["other", "state"])
  }

  /// In a folder that others can write to, they can create files whose names they can guess.
  @Test func recordIsWrittenToAFileThatNobodyCanForesee() throws {
    var opened = try UploadRecordFile(file)
    try folder.file("precious", Data("precious".utf8))
    let guess = ".\(SHA256.hexadecimal(Array("state".utf8))).upload"
    #expect(symlink(folder["precious"].path, folder[guess].path) == 0)
    let record = try record()
    opened.save(record)
    #expect(opened.record == record)
    #expect(try Data(contentsOf: folder["precious"]) == Data("precious".utf8))
    opened = try UploadRecordFile(folder["other"])
    #expect(try UploadRecordFile(file).record == record)
    #expect(folder.names == ["other", "precious", "state"])
  }

  /// From before the last part is sent until its outcome is known, because the process may end in between.
  @Test func recordKnowsWhetherTheUploadMayBeComplete() throws {
    var record = try record()
    let url = try #require(URL(string: "https://a.example/files"))
    var upload = ResumableUpload(.tus, to: url, size: 10)
    _ = upload.begin()
    var created = UploadHead(status: 201)
    created.location = "/files/1"
    let last = upload.received(created)
    record.remember(upload)
    #expect(record.resource == upload.resource)
    #expect(record.mayBeComplete == nil)
    record.remember(upload, before: last)
    #expect(record.mayBeComplete == true)
    upload.interrupted(sent: 9)
    record.remember(upload)
    #expect(record.mayBeComplete == nil)
    upload.interrupted(sent: 10)
    record.remember(upload)
    #expect(record.mayBeComplete == true)
  }

  @Test func otherFilesAreLeftAsTheyAre() throws {
    try folder.file("state", Data("precious".utf8))
    chmod(file.path, 0o600)
    #expect(throws: UploadError.stateNotUsable(file, code: 0)) { try UploadRecordFile(file) }
    #expect(try Data(contentsOf: file) == Data("precious".utf8))
    // Its rights do not matter to what it is.
    chmod(file.path, 0o644)
    #expect(throws: UploadError.stateNotUsable(file, code: 0)) { try UploadRecordFile(file) }
    mkfifo(folder["pipe"].path, 0o600)
    #expect(throws: UploadError.stateNotUsable(folder["pipe"], code: 0)) { try UploadRecordFile(folder["pipe"]) }
    symlink(file.path, folder["link"].path)
    #expect(throws: UploadError.stateNotUsable(folder["link"], code: ELOOP)) { try UploadRecordFile(folder["link"]) }
    let missing = folder["none"].appendingPathComponent("state")
    #expect(throws: UploadError.stateNotUsable(missing, code: ENOENT)) { try UploadRecordFile(missing) }
  }

  @Test func recordThatOthersCanReadIsNotUsed() throws {
    var opened: UploadRecordFile? = try UploadRecordFile(file)
    opened?.save(try record())
    opened = nil
    chmod(file.path, 0o644)
    #expect(throws: UploadError.stateNotUsable(file, code: EPERM)) { try UploadRecordFile(file) }
  }

  @Test func eachPartOfTheOwnerCounts() throws {
    let record = try record()
    #expect(record.isSameUpload(as: record))
    let changes: [(inout UploadRecord) -> Void] = [
      { $0.salt = "b" }, { $0.kind = "draft" }, { $0.destination = "b" }, { $0.requester = "b" }, { $0.file = "b" },
    ]
    for change in changes {
      var other = record
      change(&other)
      #expect(!record.isSameUpload(as: other))
    }
  }
}
