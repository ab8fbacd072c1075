#if os(Linux)
  import CCurl

  /// Delivery to consumers.
  extension EventLoop {
    func markDirty(_ transfer: Transfer) {
      guard !transfer.loopIsDirty else { return }
      transfer.loopIsDirty = true
      dirty.append(transfer)
    }

    /// Delivers what a transfer has gathered, and pauses receiving if its consumer falls behind.
    func deliver(_ transfer: Transfer) {
      let delivery = transfer.loopDeliver()
      if delivery.head != nil || delivery.chunk != nil { deliveries.append(delivery) }
      guard let connection = transfer.loopConnection else { return }
      guard delivery.pauses else {
        if !transfer.loopPauses.contains(.receiving) { connection.delivered() }
        return
      }
      transfer.loopPauses.insert(.receiving)
      connection.paused()
    }

    /// Gathers the deliveries of the turn. Consumers are resumed once it is over, so that their code does not run
    /// within it.
    func gatherDeliveries(into finished: inout [Transfer.Queue.Delivery]) {
      for transfer in dirty {
        transfer.loopIsDirty = false
        deliver(transfer)
      }
      dirty.removeAll(keepingCapacity: true)
      if finished.isEmpty { swap(&deliveries, &finished) } else { finished += deliveries }
      deliveries.removeAll(keepingCapacity: true)
    }
  }
#endif
