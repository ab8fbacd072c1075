#if os(Linux)
  /// How an origin's requests are divided among event loops. The origin's own loop has the queue and the connection
  /// limit; another loop may run a transfer on its own connections, and then delivers the response to the consumer
  /// itself.
  ///
  /// A consumer only calls the origin's loop, which forwards what concerns a loan. A transfer may have been returned,
  /// and lent again, before that arrives: a loop only acts on transfers that it has borrowed.
  extension CurlEventLoop {
    /// The record that the origin's loop keeps of a transfer that another loop runs.
    struct Loan {
      let borrower: CurlEventLoop
      let ticket: RequestQueue<CurlTransfer>.Ticket
      let pool: CurlPool
    }

    // MARK: - The origin's loop

    /// Lends a transfer that may begin, and returns whether another loop runs it.
    func lend(_ transfer: CurlTransfer, _ ticket: RequestQueue<CurlTransfer>.Ticket) -> Bool {
      let lane = queue.lane(of: ticket)
      // If there are no descriptors for another loop, this one has to run it.
      guard lane > 0, let pool = transfer.loopPool, let borrower = group[(index + lane) % group.count]
      else { return false }
      deadlines.remove(transfer)
      transfer.loopLoan = Loan(borrower: borrower, ticket: ticket, pool: pool)
      transfer.loopPool = nil
      transfer.loopTicket = nil
      borrower.submit(.take(transfer))
      return true
    }

    func takeBack(_ transfer: CurlTransfer, resends: Bool) {
      guard let loan = transfer.loopLoan else { return }
      transfer.loopLoan = nil
      guard resends else {
        queue.remove(loan.ticket)
        pools.release(loan.pool, now: now)
        return
      }
      transfer.loopPool = loan.pool
      transfer.loopTicket = loan.ticket
      resend(transfer)
    }

    /// Returns whether an operation concerns a transfer that this loop does not run; if another does, forwards it
    /// there.
    func passesOn(_ operation: Operation) -> Bool {
      switch operation {
      case .start, .take, .takeBack: return false
      case .cancel(let transfer), .resumeReceiving(let transfer), .resumeSending(let transfer):
        guard transfer.eventLoop === self else { return !borrowed.contains(ObjectIdentifier(transfer)) }
        guard let loan = transfer.loopLoan else { return false }
        loan.borrower.submit(operation)
        return true
      }
    }

    // MARK: - The other loop

    func borrow(_ transfer: CurlTransfer) {
      borrowed.insert(ObjectIdentifier(transfer))
      guard let pool = pools.acquire(transfer.request.pool, for: self) else { return fail(transfer) }
      transfer.loopPool = pool
      begin(transfer)
    }

    func giveBack(_ transfer: CurlTransfer, resends: Bool) {
      guard transfer.eventLoop !== self, borrowed.remove(ObjectIdentifier(transfer)) != nil else { return }
      transfer.eventLoop.submit(.takeBack(transfer, resends: resends))
    }

    // MARK: - Both

    /// Sends a transfer, which is no longer in progress, again.
    func resend(_ transfer: CurlTransfer) {
      if let ticket = transfer.loopTicket {
        queue.resend(ticket)
        if transfer.request.deadline != .max { deadlines.insert(transfer, at: transfer.request.deadline) }
      } else {
        if let pool = transfer.loopPool { pools.release(pool, now: now) }
        transfer.loopPool = nil
        giveBack(transfer, resends: true)
      }
    }
  }
#endif
