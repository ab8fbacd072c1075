import Testing

@testable import EKNetwork

struct StatusCodesTests {
  @Test func setsHoldTheirCodes() {
    let rows: [(StatusCodes, [Int], [Int])] = [
      (.successful, [200, 204, 299], [199, 300, -1, 0]),
      (.any, [0, 100, 999, -1, Int.min], []),
      ([], [], [200]),
      ([404, 200, 404], [200, 404], [199, 201, 403, 405]),
      (.range(200..<300).union([404]), [200, 299, 404], [300, 403]),
      (.range(400...499), [400, 499], [399, 500]),
      (.range(200..<200), [], [200]),
      ([.max, .min], [.min], [0]),
      (.range(Int.min...Int.max), [.min, 0], []),
    ]
    for (set, inside, outside) in rows {
      for code in inside { #expect(set.contains(code), "\(set) \(code)") }
      for code in outside { #expect(!set.contains(code), "\(set) \(code)") }
    }
  }

  @Test func equalSetsAreEqual() {
    #expect(StatusCodes.range(200..<250).union(.range(250..<300)) == .successful)
    #expect(StatusCodes.range(240..<300).union(.range(200..<250)) == .successful)
    #expect(([201, 200] as StatusCodes) == .range(200...201))
    #expect(StatusCodes.any.union([404]) == .any)
    #expect(StatusCodes.successful.union([]) == .successful)
    #expect(([200, 202] as StatusCodes) != .range(200...202))
  }
}
