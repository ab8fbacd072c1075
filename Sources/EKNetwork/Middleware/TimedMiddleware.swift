/// Middleware that reads the timings of the connection, which are measured only on request.
protocol TimedMiddleware: NetworkMiddleware {}
