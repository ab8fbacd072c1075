#if os(Linux) || os(macOS)
  import Testing

  @testable import EKNetwork

  /// Our multipart bodies, read by a real server's parser. Skipped where Python 3 or Werkzeug is missing.
  @Suite(.enabled(if: Werkzeug.isAvailable)) struct MultipartInteroperabilityTests {
    private static let names = [
      "plain", "with space", "quote\"inside", "\"", "back\\slash", "trailing\\", "\\\\server\\share",
      "mixed\\\"both\"\\",
      "semi;colon=1", "日本語", "emoji 😀 👩‍👩‍👧", "é", "e\u{301}", "percent 100%", "tab\there", "line\u{2028}separator",
      "next\u{85}line", "'single'", "a, b", "=?utf-8?Q?a?=",
    ]

    @Test func werkzeugReadsBackNamesFilenamesAndBytes() throws {
      var form = MultipartFormData()
      let bytes = Data((0...255).map { UInt8($0) }) + Data("\r\n--\r\n".utf8)
      for name in Self.names {
        form.addPart(name: name, data: bytes, mimeType: "application/octet-stream", filename: name)
        form.addPart(name: name, data: Data(name.utf8), mimeType: "text/plain; charset=utf-8")
      }
      let fields = try Werkzeug.parse(form)
      #expect(fields.filter { $0.filename != nil }.map(\.name) == Self.names)
      let filenames = fields.compactMap(\.filename)
      if Werkzeug.unescapesShares {
        #expect(filenames == Self.names)
      } else {
        #expect(filenames.count == Self.names.count)
        #expect(zip(filenames, Self.names).allSatisfy { $0 == $1 || $1.hasPrefix("\\\\") })
      }
      #expect(fields.filter { $0.filename != nil }.allSatisfy { $0.data == bytes })
      #expect(fields.filter { $0.filename == nil }.map(\.name) == Self.names)
      #expect(fields.filter { $0.filename == nil }.map(\.data) == Self.names.map { Data($0.utf8) })
    }

    @Test func namesDoNotBreakOut() throws {
      // Werkzeug, like most servers, leaves %0D and %0A as they are: nothing is lost, and nothing gets out.
      let names = [
        "a\r\nX-Evil: 1", "a\r\n\r\nevil", "a\"; filename=\"evil.sh", "a\\\"; filename=\"evil.sh", "\0\u{7F}",
      ]
      var form = MultipartFormData()
      for name in names { form.addPart(name: name, data: Data("v".utf8), mimeType: "text/plain") }
      let fields = try Werkzeug.parse(form)
      #expect(
        fields.map(\.name) == [
          "a%0D%0AX-Evil: 1", "a%0D%0A%0D%0Aevil", "a\"; filename=\"evil.sh", "a\\\"; filename=\"evil.sh", "%00%7F",
        ])
      #expect(fields.allSatisfy { $0.filename == nil && $0.data == Data("v".utf8) })
    }
  }

  /// Werkzeug's form parser in a Python process.
  private enum Werkzeug {
    struct Field: Decodable {
      let name: String
      let filename: String?
      let data: Data
    }

    static let isAvailable = (try? run("import werkzeug.formparser", input: Data())) != nil

    /// Before 2.3 it leaves the escapes in a name that begins like that of a share of Windows.
    static let unescapesShares =
      (try? run(
        "from importlib.metadata import version; "
          + "assert [int(part) for part in version('werkzeug').split('.')[:2]] >= [2, 3]", input: Data())) != nil

    static func parse(_ form: MultipartFormData) throws -> [Field] {
      let script = """
        import sys, io, json, base64
        from werkzeug.formparser import FormDataParser
        body = sys.stdin.buffer.read()
        _, form, files = FormDataParser().parse(
          io.BytesIO(body), "multipart/form-data", len(body), {"boundary": sys.argv[1]})
        encode = lambda data: base64.b64encode(data).decode()
        fields = [{"name": k, "data": encode(v.encode())} for k, v in form.items(multi=True)]
        fields += [
          {"name": k, "filename": v.filename, "data": encode(v.read())} for k, v in files.items(multi=True)]
        print(json.dumps(fields))
        """
      let body = try #require(form.encodedData())
      return try JSONDecoder().decode([Field].self, from: run(script, form.boundary, input: body))
    }

    private static func run(_ script: String, _ arguments: String..., input: Data) throws -> Data {
      try ChildProcess("python3", ["-c", script] + arguments, hidesErrors: true).run(input: input)
    }
  }
#endif
