import Testing

@testable import EKNetwork

struct MultipartFormDataTests {
  private func text(_ form: MultipartFormData) -> String? {
    form.encodedData().map { String(decoding: $0, as: UTF8.self) }
  }

  @Test func encodesExactBytes() {
    var form = MultipartFormData(boundary: "B")
    form.addPart(name: "title", data: Data("hello".utf8), mimeType: "text/plain")
    form.addPart(name: "file", data: Data("\r\n--x".utf8), mimeType: " image/png ", filename: "é.png")
    form.addPart(name: "", data: Data(), mimeType: "", filename: "")
    #expect(
      text(form)
        == "--B\r\nContent-Disposition: form-data; name=\"title\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n"
        + "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"é.png\"\r\n"
        + "Content-Type: image/png\r\n\r\n\r\n--x\r\n"
        + "--B\r\nContent-Disposition: form-data; name=\"\"; filename=\"\"\r\n\r\n\r\n--B--\r\n")
  }

  @Test func encodesAnEmptyForm() {
    #expect(text(MultipartFormData(boundary: "B")) == "--B--\r\n")
  }

  @Test func startsWithUniqueBoundary() {
    let form = MultipartFormData()
    #expect(UUID(uuidString: form.boundary) != nil)
    #expect(form.boundary != MultipartFormData().boundary)
    #expect(form.parts.isEmpty)
  }

  @Test(arguments: [
    ("a\"b", #"a\"b"#), ("a\r\nb", "a%0D%0Ab"), ("a\\b", #"a\\b"#), ("a\\", #"a\\"#), ("a\\\"b", #"a\\\"b"#),
    ("a\0b\u{1B}\u{7F}\u{B}", "a%00b%1B%7F%0B"), ("a\tb c;d=e%22", "a\tb c;d=e%22"), ("日本😀", "日本😀"),
    ("\"; filename=\"evil.sh", #"\"; filename=\"evil.sh"#),
    ("x\"\r\nX-Evil: 1\r\n\r\n", #"x\"%0D%0AX-Evil: 1%0D%0A%0D%0A"#),
  ])
  func keepsNamesInTheirQuotes(name: String, expected: String) {
    var form = MultipartFormData(boundary: "B")
    form.addPart(name: name, data: Data(), mimeType: "a/b", filename: name)
    #expect(
      text(form)
        == "--B\r\nContent-Disposition: form-data; name=\"\(expected)\"; filename=\"\(expected)\"\r\n"
        + "Content-Type: a/b\r\n\r\n\r\n--B--\r\n")
  }

  @Test(arguments: ["a/b\r\nX: 1", "a/b\n", "\r", "a\0b", "a\u{7F}", "a\u{1}"])
  func refusesMediaTypesThatBreakOut(mimeType: String) {
    var form = MultipartFormData()
    form.addPart(name: "a", data: Data(), mimeType: "text/plain")
    form.addPart(name: "b", data: Data(), mimeType: mimeType)
    #expect(form.encodedData() == nil)
  }

  @Test(arguments: ["BOUNDARY", "xBOUNDARY", "BOUNDARYx", "\r\n--BOUNDARY--\r\n", "BOUNBOUNDARYDARY", "BBOUNDARY"])
  func replacesBoundaryFoundInPart(data: String) {
    var form = MultipartFormData(boundary: "BOUNDARY")
    form.addPart(name: "a", data: Data("harmless".utf8), mimeType: "a/b")
    #expect(form.boundary == "BOUNDARY")
    form.addPart(name: "b", data: Data(data.utf8), mimeType: "a/b")
    #expect(UUID(uuidString: form.boundary) != nil)
    #expect(text(form)?.components(separatedBy: "--\(form.boundary)").count == 4)
  }

  @Test(arguments: ["BOUNDAR", "OUNDARY", "BOUNDAR Y", "", "YRADNUOB"])
  func keepsBoundaryNotFoundInPart(data: String) {
    var form = MultipartFormData(boundary: "BOUNDARY")
    form.addPart(name: "a", data: Data(data.utf8), mimeType: "a/b")
    #expect(form.boundary == "BOUNDARY")
  }

  @Test func partsCanBeChanged() {
    var form = MultipartFormData(boundary: "BOUNDARY")
    for name in ["a", "b", "c"] { form.addPart(name: name, data: Data(name.utf8), mimeType: "") }
    form.parts.removeAll { $0.name == "b" }
    form.parts.reverse()
    #expect(form.boundary == "BOUNDARY")
    let expected = ["c", "a"].map { "--BOUNDARY\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n\($0)\r\n" }
    #expect(text(form) == expected.joined() + "--BOUNDARY--\r\n")
    form.parts = []
    #expect(text(form) == "--BOUNDARY--\r\n")
  }

  @Test(arguments: ["BOUNDARY", "\r\n--BOUNDARY--\r\n", "xBOUNDARYx"])
  func replacesBoundaryFoundInPartThatIsSet(data: String) {
    typealias Part = MultipartFormData.Part
    let part = Part(name: "b", data: Data(data.utf8), mimeType: "a/b")
    let changes: [(inout [Part]) -> Void] = [{ $0.append(part) }, { $0[0] = part }, { $0 = [part] }]
    for change in changes {
      var form = MultipartFormData(boundary: "BOUNDARY")
      form.addPart(name: "a", data: Data("harmless".utf8), mimeType: "a/b")
      change(&form.parts)
      #expect(UUID(uuidString: form.boundary) != nil)
      #expect(form.parts.last == part)
    }
  }

  @Test func sendsSlicesOfData() {
    var form = MultipartFormData(boundary: "B")
    form.addPart(name: "a", data: Data("0123456789".utf8)[3..<6], mimeType: "")
    #expect(text(form)?.contains("\r\n\r\n345\r\n") == true)
    form.addPart(name: "b", data: Data("xxBxx".utf8)[0..<2], mimeType: "")
    #expect(form.boundary == "B")
  }
}
