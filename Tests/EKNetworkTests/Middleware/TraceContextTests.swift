import Testing

@testable import EKNetwork

struct TraceContextTests {
  private let trace = "0af7651916cd43dd8448eb211c80319c"
  private let span = "b7ad6b7169203331"

  @Test func traceparentRoundTrips() throws {
    for (flags, isSampled) in [("00", false), ("01", true), ("02", false), ("03", true)] {
      let context = try #require(TraceContext(traceparent: "00-\(trace)-\(span)-\(flags)"))
      #expect(context.traceID == trace)
      #expect(context.spanID == span)
      #expect(context.isSampled == isSampled)
      #expect(context.traceparent == "00-\(trace)-\(span)-\(flags)")
    }
    // Undefined flags are sent as zero.
    #expect(TraceContext(traceparent: "00-\(trace)-\(span)-ff")?.traceparent == "00-\(trace)-\(span)-03")
    #expect(TraceContext(traceID: trace, spanID: span, isSampled: true)?.traceparent == "00-\(trace)-\(span)-01")
  }

  @Test func laterVersionIsReadAsVersion00() {
    for text in ["01-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01-what-the-future-brings"] {
      #expect(TraceContext(traceparent: text)?.traceparent == "00-\(trace)-\(span)-01")
    }
  }

  @Test func invalidContextIsRejected() {
    let zeros = String(repeating: "0", count: 32)
    let texts = [
      "", "00", "00-\(trace)-\(span)", "00-\(trace)-\(span)-1", "00-\(trace)-\(span)-01-", "00-\(trace)-\(span)-01x",
      "ff-\(trace)-\(span)-01", "cc-\(trace)-\(span)-01x", "00-\(zeros)-\(span)-01", "0-0\(trace)-\(span)-01",
      "00-\(trace)-\(zeros.prefix(16))-01", "00-\(trace.uppercased())-\(span)-01", "00-\(trace)-\(span)-0G",
      "00_\(trace)-\(span)-01", "0x-\(trace)-\(span)-01", " 00-\(trace)-\(span)-01", "00-\(trace)-\(span)-+1",
      String(repeating: "0", count: 100_000),
    ]
    for text in texts { #expect(TraceContext(traceparent: text) == nil, "\(text.prefix(80))") }
    #expect(TraceContext(traceID: trace + "0", spanID: span, isSampled: true) == nil)
    #expect(TraceContext(traceID: trace, spanID: "b7ad6b716920333é", isSampled: true) == nil)
    #expect(TraceContext(traceID: zeros, spanID: span, isSampled: true) == nil)
  }

  @Test func invalidTracestateIsDropped() {
    let read = { TraceContext(traceparent: "00-\(trace)-\(span)-01", tracestate: $0)?.tracestate }
    #expect(read("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE") == "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
    #expect(read(" a=1 ,,\t0b@c= x y ") == "a=1,0b@c= x y")
    // As the public test suite of W3C expects.
    for text in ["foo@=1,bar=2", "foo@@bar=1,bar=2", "foo@bar@baz=1,bar=2", "t@\(String(repeating: "v", count: 15))=1"]
    {
      #expect(read(text) == text)
    }
    #expect(read("foo=1,bar=2,foo=1,foo=3") == "foo=1,bar=2")
    let long = String(repeating: "a", count: 256)
    #expect(read("\(long)=\(long)") != nil)
    let members = { (count: Int) in (0..<count).map { "k\($0)=v" }.joined(separator: ",") }
    #expect(read(members(32)) == members(32))
    // 32 members, 8,192 bytes.
    let longest = (10..<42).map { "k\($0)=" + String(repeating: "v", count: $0 == 41 ? 252 : 251) }.joined(
      separator: ",")
    #expect(read(longest) == longest && read(longest + "v") == nil)
    let invalid = [
      "", ",", "a", "a=", "=b", "A=1", "a.b=1", "a =1", "a=b=c", "@a=1", "a=\u{7f}", "a=é", "a=b\r\nc: d",
      "\(long)a=1", "a=\(long)a", members(33), String(repeating: "a=1,", count: 100_000),
    ]
    for text in invalid { #expect(read(text) == nil, "\(text.prefix(80))") }
  }

  @Test func childSharesTraceID() {
    let root = TraceContext()
    let child = root.child()
    #expect(root.isSampled)
    #expect(!TraceContext(isSampled: false).isSampled)
    #expect(child.traceID == root.traceID)
    #expect(child.spanID != root.spanID)
    #expect(TraceContext(traceparent: child.traceparent) == child)
    #expect(TraceContext() != root)
  }
}
