#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "TestEnvironment.h"

// All of the tests at once delay each other beyond the limits of requests and of the tests themselves. A limit also takes less time.
// swift-testing reads it before it looks for tests, so nothing in a test could set it. The caller's own value prevails.
__attribute__((constructor)) static void limit_tests_at_once(void) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  char width[24];
  snprintf(width, sizeof width, "%ld", 16 * (cores < 2 ? 2 : cores));
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", width, 0);
}

// A proxy that the environment names cannot reach the servers of the tests. What reads the environment may start before any test.
__attribute__((constructor)) static void forget_proxies(void) {
  static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"};
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) unsetenv(names[index]);
}

// A terminal of macOS allows a process 256 descriptors, which so many tests with servers of their own exceed.
__attribute__((constructor)) static void allow_descriptors(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 1024) return;
  limit.rlim_cur = limit.rlim_max < 1024 ? limit.rlim_max : 1024;
  setrlimit(RLIMIT_NOFILE, &limit);
}
