/// The checks of the requests that the server received, in the order of `checkServerRequests` of the reference client.
struct ServerCheck {
  let identifier: String
  let configs: [JSON]
  let responses: [SuiteResponse]
  let state: [JSON]

  func check() throws {
    var next = 0
    for (index, config) in configs.enumerated() {
      let request = ResponseCheck(config: config, number: index + 1, identifier: identifier)
      let type = config["expected_type"]?.string
      // It does not reach the server.
      if type == "cached" { continue }
      let received = state.indices.contains(next) ? state[next] : nil
      try check(received, request, type, config)
      next += 1
      try checkResponse(received, responses[index], index + 1)
      if let method = config["expected_method"]?.string {
        let sent = try present(received)["request_method"]?.string
        try expect(
          sent == method, isSetup: request.isSetup("expected_method"),
          "Request \(index + 1) had method \(sent ?? ""), not \(method)")
      }
    }
  }

  private func check(_ received: JSON?, _ request: ResponseCheck, _ type: String?, _ config: JSON) throws {
    let isSetup = request.isSetup("expected_type")
    if type == "not_cached" {
      let number = try present(received)["request_num"]?.number
      try expect(number == Double(request.number), isSetup: isSetup, "Response \(request.number) comes from cache")
    }
    let condition = ["etag_validated": "if-none-match", "lm_validated": "if-modified-since"][type ?? ""]
    if let condition {
      try expect(received != nil, isSetup: isSetup, "request \(request.number) wasn't sent to server")
      try expect(
        received?["request_headers"]?[condition] != nil, isSetup: isSetup,
        "request \(request.number) doesn't have \(condition) header")
    }
    for field in config["expected_request_headers"]?.array ?? [] {
      let name = field.string ?? field[0]?.string ?? ""
      let value = try present(received)["request_headers"]?[name.lowercased()]
      let isRight = field.string == nil ? value != nil && value == field[1] : value != nil
      try expect(
        isRight, isSetup: request.isSetup("expected_request_headers"),
        "Request \(request.number) header \(name) is \"\(value?.string ?? "undefined")\", not \"\(field[1]?.string ?? "")\""
      )
    }
    for field in config["expected_request_headers_missing"]?.array ?? [] {
      let name = field.string ?? field[0]?.string ?? ""
      let value = try present(received)["request_headers"]?[name.lowercased()]
      try expect(
        field.string == nil ? value != field[1] : value == nil,
        isSetup: request.isSetup("expected_request_headers_missing"),
        "Request \(request.number) \(name) header present.")
    }
  }

  /// Checks that the header fields sent by the server arrived.
  private func checkResponse(_ received: JSON?, _ response: SuiteResponse, _ number: Int) throws {
    for field in received?["response_headers"]?.array ?? [] {
      guard let name = field[0]?.string, name.lowercased() != "date" else { continue }
      let values = field[1]?.array.compactMap(\.string) ?? []
      let sent = values.isEmpty ? field[1]?.string : values.joined(separator: ", ")
      try expect(
        response.get(name) == sent, isSetup: true,
        "Response \(number) header \(name) is \"\(response.get(name) ?? "null")\", not \"\(sent ?? "null")\"")
    }
  }

  private func present(_ received: JSON?) throws -> JSON {
    guard let received else { throw Failure(name: "TypeError", message: "The server has not received the request") }
    return received
  }
}
