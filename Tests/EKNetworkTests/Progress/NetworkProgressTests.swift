import Dispatch
import Testing

@testable import EKNetwork

#if canImport(Combine)
  import Combine
#endif

struct NetworkProgressTests {
  @MainActor @Test func beginsAtZeroAndCanBeSetForPreviews() {
    let progress = NetworkProgress()
    #expect(progress.fractionCompleted == 0)
    progress.fractionCompleted = 0.5
    #expect(progress.fractionCompleted == 0.5)
  }

  @MainActor @Test func valuesBeginWithTheCurrentOne() async {
    let progress = NetworkProgress()
    progress.fractionCompleted = 0.25
    var seen: [Double] = []
    for await fraction in progress.$fractionCompleted.values {
      seen.append(fraction)
      if seen.count == 1 { progress.fractionCompleted = 0.75 } else { break }
    }
    #expect(seen == [0.25, 0.75])
  }

  #if canImport(Combine)
    @MainActor final class ViewModel: ObservableObject {
      @Published var uploadProgress = 0.0
      func follow(_ progress: NetworkProgress) {
        progress.$fractionCompleted.assign(to: &$uploadProgress)
      }
    }

    @MainActor @Test func documentedAssignmentWorks() {
      let model = ViewModel()
      let progress = NetworkProgress()
      model.follow(progress)
      progress.fractionCompleted = 0.5
      #expect(model.uploadProgress == 0.5)
    }
  #else
    @Test func greaterOfConcurrentReportsStays() {
      for _ in 0..<30_000 {
        let progress = NetworkProgress()
        DispatchQueue.concurrentPerform(iterations: 2) { index in
          progress.advance(to: ProgressUpdate(fraction: Double(index), totalBytes: Int64(index)))
        }
        #expect(progress.fractionCompleted == 1 && progress.totalBytes == 1)
      }
    }

    @Test func valuesEndWithTheProgress() async {
      var progress: NetworkProgress? = NetworkProgress()
      progress?.fractionCompleted = 0.5
      let values = progress?.$fractionCompleted.values
      progress = nil
      var seen: [Double] = []
      if let values {
        for await fraction in values { seen.append(fraction) }
      }
      #expect(seen == [0.5])
    }
  #endif
}
