import Testing

@testable import EKNetwork

struct CacheDirectivesTests {
  @Test(arguments: [
    ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("foobar, max-age=60", 60), ("max-age=0060", 60),
    ("max-age=2147483649", DeltaSeconds.greatest), ("max-age=99999999999999999999999", DeltaSeconds.greatest),
    ("max-age=60, max-age=1", 60), ("ext=\"a, max-age=1\", max-age=60", 60), ("ext=\"\\\", max-age=1\",max-age=60", 60),
  ])
  func parsesMaxAge(_ value: String, _ seconds: Int64) {
    #expect(CacheDirectives(value).maxAge == seconds)
  }

  @Test(arguments: [
    "max-age=-60", "max-age='60'", "max-age=60.0", "max-age=a60", "max-age=60a", "max-age", "max-age=", "max-age= 60",
    "max-age=６０", "max-age =60", "max-age\t=60", "max-age; x", "max-age:60",
  ])
  func invalidMaxAgeIsStale(_ value: String) {
    #expect(CacheDirectives(value).maxAge == 0)
  }

  @Test func noCacheWithFieldNamesAppliesToThem() {
    let directives = CacheDirectives("no-cache=\"Set-Cookie, B\", max-age=5")
    #expect(!directives.noCache)
    #expect(directives.noCacheFields == ["set-cookie", "b"])
    #expect(CacheDirectives("no-cache=\"a\", no-cache").noCache)
    #expect(CacheDirectives("No-CaChE").noCache)
  }

  /// What an invalid directive forbids stays forbidden; what it allows does not become allowed.
  @Test func invalidDirectivesRestrict() {
    #expect(CacheDirectives("no-store; private").noStore)
    for value in ["no-cache =\"a\"", "no-cache=", "no-cache=\"\"", "no-cache=\", \""] {
      #expect(CacheDirectives(value).noCache, "\(value)")
    }
    #expect(CacheDirectives("private, must-revalidate ; x").mustRevalidate)
    #expect(CacheDirectives("private =\"a\"").isPrivate)
    for value in [
      "public ; x", "public =1", "immutable;", "stale-while-revalidate =5", "stale-if-error =5", "max-stale =5",
    ] {
      #expect(CacheDirectives(value) == CacheDirectives(nil), "\(value)")
    }
    #expect(CacheDirectives("max-age =0, max-age=60").maxAge == 0)
  }

  /// What a line forbids counts, whatever is before it and whether or not the lines were joined.
  @Test(arguments: ["ext=\"a", "ext=\"a\\", "\"", "max-age=\"60", "private=\"a, b"])
  func openQuoteHidesNoRestriction(_ line: String) {
    for other in ["no-store", "no-cache", "private", "must-revalidate"] {
      let (lines, joined) = (CacheDirectives([line, "x, \(other)"]), CacheDirectives("\(line), x, \(other)"))
      for directives in [lines, joined] {
        let found = [directives.noStore, directives.noCache, directives.isPrivate, directives.mustRevalidate]
        let expected = ["no-store", "no-cache", "private", "must-revalidate"].map {
          $0 == other || line.hasPrefix("private") && $0 == "private"
        }
        #expect(found == expected, "\(line) \(other)")
      }
    }
    #expect(CacheDirectives([line, "public, immutable"]).isPublic)
    #expect(!CacheDirectives("\(line), public, immutable").isPublic)
  }

  /// Two lines that leave a quote open, and were joined, look like a quoted string with what was between them.
  @Test(arguments: ["x=\"a, %, y=\"b", "x=\"a, %, y=\"b, c\"", "\"a, %, \"", "x=\"a\\\", %, y=\"b"])
  func quotedStringWithMoreBehindItHidesNoRestriction(_ text: String) {
    func parsed(_ directive: String) -> CacheDirectives { CacheDirectives(text.replacing("%", with: directive)) }
    #expect(parsed("no-store").noStore && parsed("no-cache").noCache && parsed("private").isPrivate)
    #expect(parsed("must-revalidate").mustRevalidate && parsed("max-age=60").maxAge == 0)
    #expect(!parsed("public").isPublic && !parsed("immutable").isImmutable)
  }

  @Test func linesAreOneField() {
    #expect(CacheDirectives(["max-age=5", "max-age=60, public"]).maxAge == 5)
    #expect(CacheDirectives(["ext=\"a", "no-store, y=\"b"]).noStore)
    #expect(CacheDirectives("no-cache=\"a, b").noCache)
    #expect(!CacheDirectives("ext=\"a, no-store\", max-age=5").noStore)
    #expect(CacheDirectives([]) == CacheDirectives(nil))
  }

  @Test func parsesOtherDirectives() {
    let directives = CacheDirectives(
      "no-store,private, must-revalidate,must-understand,immutable, stale-while-revalidate=5, stale-if-error=6, public")
    #expect(directives.noStore && directives.isPrivate && directives.isPublic && directives.mustRevalidate)
    #expect(directives.mustUnderstand && directives.isImmutable)
    #expect(directives.staleWhileRevalidate == 5 && directives.staleIfError == 6)
    let request = CacheDirectives("max-stale, min-fresh=3, only-if-cached")
    #expect(request.maxStale == DeltaSeconds.greatest && request.minFresh == 3 && request.onlyIfCached)
    #expect(CacheDirectives("max-stale=x").maxStale == nil)
  }

  @Test(arguments: ["\"", "a=\"", "\\", "=,=,", ",,,", "\"\\", "a=\"\\\""])
  func malformedDirectivesAreIgnored(_ value: String) {
    #expect(CacheDirectives(value) == CacheDirectives(nil))
  }
}
