// epoll and eventfd, which Swift's Glibc module does not include, with the constants of libcurl's socket interface.
#ifndef EKN_POLLER_H
#define EKN_POLLER_H

#if defined(__linux__)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  uint64_t tag;
  int events;  // EKN_CSELECT_…
} ekn_ready;

// Starts a detached thread with a name of at most 15 bytes. False if there can be no more threads.
bool ekn_thread_start(const char *name, size_t stack_size, void (*run)(void *), void *context);
// Opens an epoll descriptor, and an eventfd that it watches under `wake_tag`. False, with neither opened, if that
// fails.
bool ekn_poller_open(int *poller, int *waker, uint64_t wake_tag);
// Watches a socket for events (EKN_POLL_…), or stops watching it.
void ekn_poller_watch(int poller, int socket, int what, uint64_t tag);
// Waits for sockets or a wake-up, for at most `timeout` nanoseconds, or for ever if it is -1. Returns how many are
// ready.
int ekn_poller_wait(int poller, ekn_ready *ready, int capacity, int64_t timeout);
// The number of processors on which the thread may run. Foundation counts those of the machine.
int ekn_processor_count(void);
// Whether the process ends, and no loop may begin another turn. Each turn asks, so there is no lock.
void ekn_loops_stop(void);
bool ekn_loops_are_stopped(void);
// Ends the current wait, or the next one. May be called on any thread.
void ekn_waker_wake(int waker);
void ekn_waker_drain(int waker);
// Blocks SIGPIPE: a peer that closes a connection is an error of one transfer, not a signal for the process. Returns
// whether it was not blocked already. On a thread that the library does not own it has to be released.
bool ekn_hold_broken_pipe_signal(void);
void ekn_release_broken_pipe_signal(bool was_held);

#endif
#endif
