#if !canImport(Combine)
  extension NetworkProgress {
    /// What `Combine.Published` is on Apple platforms, as far as ``NetworkProgress`` needs it: a value that can be set
    /// and read on any thread and whose changes can be iterated.
    @propertyWrapper
    public struct Published<Value: Sendable & Equatable>: Sendable {
      private let owner: Owner

      /// A wrapper around an initial value.
      public init(wrappedValue: Value) {
        owner = Owner(ObservedValue(wrappedValue))
      }

      /// The value.
      public var wrappedValue: Value {
        get { owner.value.current }
        nonmutating set { owner.value.update { $0 = newValue } }
      }

      /// The source of the value's changes.
      public var projectedValue: Publisher { Publisher(value: owner.value) }

      /// Ends every iteration when the wrapper goes away; the iterating task keeps the value alive, not this.
      private final class Owner: Sendable {
        let value: ObservedValue<Value>
        init(_ value: ObservedValue<Value>) { self.value = value }
        deinit { value.finish() }
      }

      /// Publishes the changes of a value.
      public struct Publisher: Sendable {
        let value: ObservedValue<Value>

        /// The value of now and then each change, until the progress is deallocated.
        ///
        /// Any number of tasks may iterate, each with a call of its own. One that is slower than the changes gets the
        /// newest and misses those before it; one that is cancelled gets `nil` at once.
        public var values: Values { Values(value: value) }

        func update(_ change: (inout Value) -> Void) { value.update(change) }
      }

      /// The asynchronous sequence of a value's changes.
      public struct Values: AsyncSequence, Sendable {
        /// Elements are values.
        public typealias Element = Value
        /// Iterating does not throw.
        public typealias Failure = Never

        let value: ObservedValue<Value>

        /// An iterator that begins with the value of now.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(value: value) }

        /// Iterates over a value's changes.
        public struct AsyncIterator: AsyncIteratorProtocol {
          let value: ObservedValue<Value>
          private var seen: UInt64?

          init(value: ObservedValue<Value>) { self.value = value }

          /// The value, once it is another one than last time; `nil` at the end or when the task is cancelled.
          public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
            guard let next = await value.next(after: seen, isolation: actor) else { return nil }
            seen = next.version
            return next.value
          }
        }
      }
    }
  }
#endif
