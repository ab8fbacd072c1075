#if os(Linux)
  /// How loops help each other with a busy origin. Its own loop has the queue and the limit of connections, and lends what
  /// may begin; another carries it out, on connections of its own, and hands the response to the consumer itself.
  ///
  /// A consumer speaks to the origin's loop alone, which passes on what concerns a loan. A transfer may be back, and lent
  /// again, before that arrives: a loop acts on what it has borrowed, and on nothing else.
  extension CurlEventLoop {
    /// What the origin's loop keeps of a transfer that another has.
    struct Loan {
      let borrower: CurlEventLoop
      let ticket: RequestQueue<CurlTransfer>.Ticket
      let pool: CurlPool
    }

    // MARK: - The origin's loop

    /// Whether another loop carries out a transfer that may begin.
    func lend(_ transfer: CurlTransfer, _ ticket: RequestQueue<CurlTransfer>.Ticket) -> Bool {
      let lane = queue.lane(of: ticket)
      // Without descriptors for another loop there is only this one.
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

    /// Whether an operation concerns a transfer that this loop does not have; if another has it, that one hears of it.
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

    /// A transfer, which is not under way any more, is to be sent again.
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
