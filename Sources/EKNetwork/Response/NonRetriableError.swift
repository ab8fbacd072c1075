/// An error that the default ``RetryPolicy`` never retries. Conform errors of your own domain to it.
public protocol NonRetriableError: Error {}
