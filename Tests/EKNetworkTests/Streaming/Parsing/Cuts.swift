@testable import EKNetwork

/// The chunkings of an input that may make a difference: whole, byte by byte, cut at every position, and at random.
func cuts(of input: Data) -> [[Data]] {
  var result = [[input], input.map { Data(CollectionOfOne($0)) }]
  for position in 0...input.count { result.append([Data(input.prefix(position)), Data(input.dropFirst(position))]) }
  for _ in 0..<5 {
    var pieces: [Data] = []
    var rest = input
    while !rest.isEmpty {
      let count = Int.random(in: 1...rest.count)
      pieces.append(Data(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    result.append(pieces)
  }
  return result
}

/// The elements that a parser finds in chunks, up to an error.
func parse<Parser: StreamParser>(_ chunks: [Data], with parser: Parser) -> (
  elements: [Parser.Element], error: (any Error)?
) {
  var parser = parser
  var elements: [Parser.Element] = []
  do {
    for chunk in chunks where !chunk.isEmpty {
      parser.append(chunk)
      while let element = try parser.next() { elements.append(element) }
    }
    while let element = try parser.finish() { elements.append(element) }
  } catch {
    return (elements, error)
  }
  return (elements, nil)
}
