#if !canImport(Combine)
  extension NetworkProgress {
    /// A counterpart of `Combine.Published`, as far as ``NetworkProgress`` needs one: a value that can be set and read
    /// on any thread and whose changes can be iterated.
    @propertyWrapper
    public struct Published<Value: Sendable & Equatable>: Sendable {
      private let owner: Owner

      /// Creates a wrapper around an initial value.
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

      /// Ends every iteration when the wrapper is deallocated; iterating tasks retain the value, not this object.
      private final class Owner: Sendable {
        let value: ObservedValue<Value>
        init(_ value: ObservedValue<Value>) { self.value = value }
        deinit { value.finish() }
      }

      /// A publisher of the changes of a value.
      public struct Publisher: Sendable {
        let value: ObservedValue<Value>

        /// The current value and then each change, until the progress is deallocated.
        ///
        /// Any number of tasks may iterate, each over a sequence of its own. A task slower than the changes receives
        /// the newest value and misses those before it; a cancelled task receives `nil` at once.
        public var values: Values { Values(value: value) }

        func update(_ change: (inout Value) -> Void) { value.update(change) }
      }

      /// The asynchronous sequence of a value's changes.
      public struct Values: AsyncSequence, Sendable {
        /// The type of the value.
        public typealias Element = Value
        /// Iterating does not throw.
        public typealias Failure = Never

        let value: ObservedValue<Value>

        /// Returns an iterator that begins with the current value.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(value: value) }

        /// An iterator over a value's changes.
        public struct AsyncIterator: AsyncIteratorProtocol {
          let value: ObservedValue<Value>
          private var seen: UInt64?

          init(value: ObservedValue<Value>) { self.value = value }

          /// Returns the value once it differs from the last one; `nil` at the end or when the task is cancelled.
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
