#include "ekn_psl.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static struct {
  const void *(*builtin)(void);
  void *(*latest)(const char *);
  int (*is_public_suffix)(const void *, const char *);
  const char *(*registrable_domain)(const void *, const char *);
} psl;

static const void *list;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *library = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  // ISO C cannot convert an object pointer to a function pointer; POSIX dlsym requires this form.
  *(void **)&psl.builtin = dlsym(library, "psl_builtin");
  *(void **)&psl.latest = dlsym(library, "psl_latest");
  *(void **)&psl.is_public_suffix = dlsym(library, "psl_is_public_suffix");
  *(void **)&psl.registrable_domain = dlsym(library, "psl_registrable_domain");
  if (!psl.is_public_suffix || !psl.registrable_domain) return;
  // The newer of the system's file and the built-in list; kept until the process ends.
  if (psl.latest) list = psl.latest(NULL);
  if (!list && psl.builtin) list = psl.builtin();
}

bool ekn_psl_available(void) {
  pthread_once(&once, load);
  return list != NULL;
}

bool ekn_psl_is_public_suffix(const char *domain) {
  return ekn_psl_available() && psl.is_public_suffix(list, domain) != 0;
}

const char *ekn_psl_registrable_domain(const char *domain) {
  return ekn_psl_available() ? psl.registrable_domain(list, domain) : NULL;
}

#endif
