import Testing

@testable import EKNetwork

struct InvalidHeaderErrorTests {
  @Test func namesTheFieldAndNeverTheValue() throws {
    let secret = "s3cr3t\r\n"
    let error = try #require(throws: InvalidHeaderError.self) { try HeaderFields(["X-Key": secret]) }
    #expect(error.errorDescription == "The value of the header field \"X-Key\" contains a control character")
    for text in ["\(error)", String(reflecting: error), error.localizedDescription] {
      #expect(!text.contains("s3cr3t"))
    }
  }

  @Test func escapesCharactersThatForgeLogLines() {
    let error = InvalidHeaderError(field: "a\r\n\u{1B}[31m\u{202E}\u{2028}\"b\"é", reason: .invalidName)
    #expect(
      error.errorDescription
        == #"The header field name "a\r\n\u{1B}[31m\u{202E}\u{2028}\"b\"é" is not a token"#)
  }

  @Test func keepsLongNamesShort() throws {
    let description = try #require(
      InvalidHeaderError(field: String(repeating: "n", count: 1_000_000), reason: .managedByLibrary).errorDescription)
    #expect(description.count < 200)
  }

  @Test func saysWhatTheLibrarySets() {
    let texts = ["transfer-Encoding", "Host"].map {
      InvalidHeaderError(field: $0, reason: .managedByLibrary).errorDescription
    }
    #expect(
      texts == [
        #"The header field "transfer-Encoding" is set by the library"#,
        #"The header field "Host" is set by the library, or cannot be set here"#,
      ])
  }

  @Test func isNotRetried() {
    #expect((InvalidHeaderError(field: "a", reason: .invalidName) as any Error) is any NonRetriableError)
  }
}
