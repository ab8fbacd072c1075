/// Middleware that reads the timings of the connection, which are measured only where somebody wants them.
protocol TimedMiddleware: NetworkMiddleware {}
