#if os(Linux)
  import CCurl

  /// Delivery to consumers, and events from the server for transfers whose bodies wait.
  extension CurlEventLoop {
    func markDirty(_ transfer: CurlTransfer) {
      guard !transfer.loopIsDirty else { return }
      transfer.loopIsDirty = true
      dirty.append(transfer)
    }

    /// Delivers what a transfer has gathered, and pauses receiving if its consumer falls behind.
    func deliver(_ transfer: CurlTransfer) {
      let delivery = transfer.loopDeliver()
      if delivery.head != nil || delivery.chunk != nil { deliveries.append(delivery) }
      if let connection = transfer.loopConnection {
        guard delivery.pauses else {
          if transfer.loopPauseBits & Int(EKN_PAUSE_RECV) == 0 { connection.delivered() }
          return
        }
        transfer.loopPauseBits |= Int(EKN_PAUSE_RECV)
        connection.paused()
      } else if delivery.pauses, let handle = transfer.loopHandle {
        transfer.loopPauseBits |= Int(EKN_PAUSE_RECV)
        _ = ekn_easy_pause(handle.easy, Int32(transfer.loopPauseBits))
        if capabilities.readsWhilePaused { transfer.loopPool?.watchAgain(handle) }
        transfer.loopPool?.stoppedReading(transfer)
      }
    }

    /// Gathers the deliveries of the turn. Consumers are resumed once it is over, so that their code does not run
    /// within it.
    func gatherDeliveries(into finished: inout [CurlTransfer.Queue.Delivery]) {
      for transfer in dirty {
        transfer.loopIsDirty = false
        if transfer.loopHasEarlyResponse {
          transfer.loopMeasure()
          remove(transfer)
          transfer.loopOutcome = .success(())
        }
        deliver(transfer)
      }
      dirty.removeAll(keepingCapacity: true)
      if finished.isEmpty { swap(&deliveries, &finished) } else { finished += deliveries }
      deliveries.removeAll(keepingCapacity: true)
    }

    /// Notes that something arrived from the server while a transfer's body had nothing to send.
    func inputArrived(for transfer: CurlTransfer) { transfersWithInput.append(transfer) }

    func checkPausedBodies() {
      guard !transfersWithInput.isEmpty else { return }
      var transfers: [CurlTransfer] = []
      swap(&transfers, &transfersWithInput)
      for transfer in transfers {
        let socket = transfer.loopPausedSocket
        guard let handle = transfer.loopHandle, socket >= 0 else { continue }
        switch transfer.loopInputWhilePaused({ ekn_socket_get_input(socket) }) {
        case .wait: break
        case .end(let code): ended(transfer, code)
        case .resume:
          transfer.loopPauseBits &= ~Int(EKN_PAUSE_SEND)
          _ = ekn_easy_pause(handle.easy, Int32(transfer.loopPauseBits))
        }
      }
    }
  }
#endif
