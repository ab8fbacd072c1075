// epoll and eventfd, which Swift's Glibc module leaves out, in the words of libcurl's socket interface.
#ifndef EKN_POLLER_H
#define EKN_POLLER_H

#if defined(__linux__)

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t tag;
  int events;  // EKN_CSELECT_…
} ekn_ready;

// An epoll descriptor, and an eventfd that it watches under `wake_tag`. False, with neither, when there are none left.
bool ekn_poller_open(int *poller, int *waker, uint64_t wake_tag);
// Watches a socket for what libcurl asks (EKN_POLL_…), or no longer.
void ekn_poller_watch(int poller, int socket, int what, uint64_t tag);
// Waits for sockets or a wake, at most `timeout` milliseconds, -1 for ever. How many are ready.
int ekn_poller_wait(int poller, ekn_ready *ready, int capacity, int timeout);
// Ends a wait, this one or the next. From any thread.
void ekn_waker_wake(int waker);
void ekn_waker_drain(int waker);
// A peer that closed a connection is an error of one transfer, not a signal for the process.
void ekn_block_broken_pipe_signal(void);
// The same for a thread that is not ours, and only until the release. Whether the signal was not blocked already.
bool ekn_hold_broken_pipe_signal(void);
void ekn_release_broken_pipe_signal(bool was_held);

#endif
#endif
