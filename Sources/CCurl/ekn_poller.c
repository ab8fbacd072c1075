// Required to declare CPU_COUNT.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ekn_poller.h"

#if defined(__linux__)

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "ekn_curl.h"

enum { EKN_EVENTS = 256 };

typedef struct {
  void (*run)(void *);
  void *context;
} thread_start;

static void *run_thread(void *pointer) {
  thread_start start = *(thread_start *)pointer;
  free(pointer);
  start.run(start.context);
  return NULL;
}

bool ekn_thread_start(const char *name, size_t stack_size, void (*run)(void *), void *context) {
  thread_start *start = malloc(sizeof *start);
  pthread_attr_t attributes;
  if (!start || pthread_attr_init(&attributes) != 0) {
    free(start);
    return false;
  }
  *start = (thread_start){run, context};
  pthread_t thread;
  bool has_started = pthread_attr_setstacksize(&attributes, stack_size) == 0 &&
                     pthread_create(&thread, &attributes, run_thread, start) == 0;
  pthread_attr_destroy(&attributes);
  if (!has_started) {
    free(start);
    return false;
  }
  pthread_setname_np(thread, name);
  pthread_detach(thread);
  return true;
}

bool ekn_poller_open(int *poller, int *waker, uint64_t wake_tag) {
  *poller = epoll_create1(EPOLL_CLOEXEC);
  *waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = wake_tag};
  if (*poller >= 0 && *waker >= 0 && epoll_ctl(*poller, EPOLL_CTL_ADD, *waker, &event) == 0) return true;
  if (*poller >= 0) close(*poller);
  if (*waker >= 0) close(*waker);
  return false;
}

void ekn_poller_watch(int poller, int socket, int what, uint64_t tag) {
  struct epoll_event event = {.data.u64 = tag};
  if (what == EKN_POLL_REMOVE) {
    epoll_ctl(poller, EPOLL_CTL_DEL, socket, &event);
    return;
  }
  if (what & EKN_POLL_IN) event.events |= EPOLLIN;
  if (what & EKN_POLL_OUT) event.events |= EPOLLOUT;
  if (epoll_ctl(poller, EPOLL_CTL_MOD, socket, &event) != 0 && errno == ENOENT)
    epoll_ctl(poller, EPOLL_CTL_ADD, socket, &event);
}

int ekn_poller_wait(int poller, ekn_ready *ready, int capacity, int64_t timeout) {
  // epoll_wait counts in milliseconds, and epoll_pwait2 needs Linux 5.11.
  int64_t milliseconds = timeout < 0 ? -1 : timeout / 1000000 + (timeout % 1000000 != 0);
  if (timeout > 0 && timeout < 1000000) {
    struct pollfd set = {poller, POLLIN, 0};
    struct timespec end = {0, timeout};
    if (ppoll(&set, 1, &end, NULL) == 0) return 0;
    milliseconds = 0;
  }
  struct epoll_event events[EKN_EVENTS];
  if (capacity > EKN_EVENTS) capacity = EKN_EVENTS;
  int count = epoll_wait(poller, events, capacity, milliseconds > INT_MAX ? INT_MAX : (int)milliseconds);
  // Also after a process was stopped (SIGCONT): what has arrived meanwhile comes before the deadlines that have passed.
  if (count < 0 && errno == EINTR) count = epoll_wait(poller, events, capacity, 0);
  for (int index = 0; index < count; index++) {
    ready[index].tag = events[index].data.u64;
    ready[index].events = (events[index].events & (EPOLLIN | EPOLLHUP) ? EKN_CSELECT_IN : 0) |
                          (events[index].events & EPOLLOUT ? EKN_CSELECT_OUT : 0) |
                          (events[index].events & EPOLLERR ? EKN_CSELECT_ERR : 0);
  }
  return count;
}

static atomic_bool loops_are_stopped;
void ekn_loops_stop(void) { atomic_store(&loops_are_stopped, true); }
bool ekn_loops_are_stopped(void) { return atomic_load(&loops_are_stopped); }

int ekn_processor_count(void) {
  cpu_set_t processors;
  return sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors)
                                                                       : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void ekn_waker_wake(int waker) { eventfd_write(waker, 1); }

void ekn_waker_drain(int waker) {
  eventfd_t value;
  eventfd_read(waker, &value);
}

static void broken_pipe(sigset_t *signals) {
  sigemptyset(signals);
  sigaddset(signals, SIGPIPE);
}

bool ekn_hold_broken_pipe_signal(void) {
  sigset_t signals, before;
  broken_pipe(&signals);
  return pthread_sigmask(SIG_BLOCK, &signals, &before) == 0 && !sigismember(&before, SIGPIPE);
}

void ekn_release_broken_pipe_signal(bool was_held) {
  if (!was_held) return;
  sigset_t signals;
  broken_pipe(&signals);
  // A signal that arrived in the meantime is pending for this thread alone, and would be delivered now.
  struct timespec none = {0, 0};
  while (sigtimedwait(&signals, NULL, &none) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
}

#endif
