import Foundation

/// The checks of a response of a test, in the order of `checkResponse` of the reference client.
struct ResponseCheck {
  let config: JSON
  let number: Int
  let identifier: String

  private static let withoutBody: Set<Int> = [204, 304]

  func check(_ response: SuiteResponse) throws {
    try checkRepetitions(response)
    try checkType(response)
    try checkStatus(response)
    try checkFields(response)
    try checkAbsentFields(response)
    guard config["expected_interim_responses"] == nil else {
      throw Failure.assertion("Interim responses are not handed out")
    }
    try checkBody(response)
  }

  func isSetup(_ member: String) -> Bool {
    config["setup"]?.isTrue == true || config["setup_tests"]?.array.contains(.string(member)) == true
  }

  private func checkRepetitions(_ response: SuiteResponse) throws {
    guard let numbers = response.get("request-numbers")?.split(separator: " ") else { return }
    try expect(Set(numbers).count == numbers.count, isSetup: true, "retry")
  }

  private func checkType(_ response: SuiteResponse) throws {
    let isSetup = isSetup("expected_type")
    let count = Self.integer(response.get("server-request-count"))
    switch config["expected_type"]?.string {
    case "cached":
      if response.status == 304, count == nil { return }
      try expect(count.map { $0 < number } ?? false, isSetup: isSetup, "Response \(number) does not come from cache")
    case "not_cached":
      try expect(count == number, isSetup: isSetup, "Response \(number) comes from cache")
    default: break
    }
  }

  private func checkStatus(_ response: SuiteResponse) throws {
    func message(_ status: Int) -> String { "Response \(number) status is \(response.status), not \(status)" }
    if let expected = config["expected_status"] {
      guard let status = expected.number.map({ Int($0) }) else { return }
      try expect(response.status == status, isSetup: isSetup("expected_status"), message(status))
    } else if let status = config["response_status"]?[0]?.number.map({ Int($0) }) {
      try expect(response.status == status, isSetup: true, message(status))
    } else if response.status == 999 {
      try expect(
        false, isSetup: isSetup("expected_type"), "Request \(number) should have been conditional, but it was not.")
    } else {
      try expect(response.status == 200, isSetup: true, message(200))
    }
  }

  private func checkFields(_ response: SuiteResponse) throws {
    let isSetup = isSetup("expected_response_headers")
    for field in config["expected_response_headers"]?.array ?? [] {
      let name = field.string ?? field[0]?.string ?? ""
      let value = response.get(name)
      func isPresent() throws {
        try expect(response.has(name), isSetup: isSetup, "Response \(number) \(name) header not present.")
      }
      if field.string != nil {
        try isPresent()
      } else if field.array.count > 2 {
        try isPresent()
        switch field[1]?.string {
        case "=":
          let other = field[2]?.string.flatMap { response.get($0) }
          try expect(
            value == other, isSetup: isSetup, "Response \(number) header \(name) is \(value ?? ""), should match")
        case ">":
          let limit = field[2]?.number ?? .infinity
          try expect(
            Self.integer(value).map { Double($0) > limit } ?? false, isSetup: isSetup,
            "Response \(number) header \(name) is \(value ?? ""), should be bigger than \(limit)")
        default: throw Failure(name: "Error", message: "Unknown expected-header operator")
        }
      } else {
        let expected = SuiteDate.value(of: field, response: response, config: config)
        try expect(
          value == expected, isSetup: isSetup,
          "Response \(number) header \(name) is \"\(value ?? "null")\", not \"\(expected ?? "null")\"")
      }
    }
  }

  private func checkAbsentFields(_ response: SuiteResponse) throws {
    let isSetup = isSetup("expected_response_headers_missing")
    for field in config["expected_response_headers_missing"]?.array ?? [] {
      if let name = field.string {
        try expect(!response.has(name), isSetup: isSetup, "Response \(number) includes unexpected header \(name)")
      } else if let name = field[0]?.string, let value = field[1]?.string {
        // The reference reads a property that its headers lack and therefore never fails here; this check does.
        try expect(
          response.get(name).map { !$0.contains(value) } ?? true, isSetup: isSetup,
          "Response \(number) header \(name) still has value \"\(value)\"")
      }
    }
  }

  private func checkBody(_ response: SuiteResponse) throws {
    if config["check_body"] == .bool(false) { return }
    if let expected = config["expected_response_text"] {
      guard let text = expected.string else { return }
      try expect(
        response.text == text, isSetup: isSetup("expected_response_text"),
        "Response body is \"\(response.text)\", not \"\(text)\"")
    } else if let text = config["response_body"]?.string {
      try expect(response.text == text, isSetup: true, "Response body is \"\(response.text)\", not \"\(text)\"")
    } else if !Self.withoutBody.contains(response.status), config["request_method"]?.string != "HEAD" {
      try expect(
        response.text == identifier, isSetup: true, "Response body is \"\(response.text)\", not \"\(identifier)\"")
    }
  }

  /// Parses the leading digits, like `parseInt`.
  static func integer(_ text: String?) -> Int? {
    text.flatMap { Int($0.drop(while: \.isWhitespace).prefix { $0.isASCII && $0.isNumber }) }
  }
}
