#include "ekn_curl.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

// libcurl's CURLMsg.
typedef struct {
  int msg;
  ekn_easy *easy;
  union {
    void *whatever;
    int result;
  } data;
} ekn_message;

enum { EKN_MESSAGE_DONE = 1, EKN_GLOBAL_DEFAULT = 3 };

static struct {
  int (*global_init)(long);
  char *(*version)(void);
  ekn_easy *(*easy_init)(void);
  void (*easy_cleanup)(ekn_easy *);
  void (*easy_reset)(ekn_easy *);
  int (*easy_setopt)(ekn_easy *, int, ...);
  int (*easy_getinfo)(ekn_easy *, int, ...);
  int (*easy_pause)(ekn_easy *, int);
  const char *(*easy_strerror)(int);
  ekn_slist *(*slist_append)(ekn_slist *, const char *);
  void (*slist_free_all)(ekn_slist *);
  ekn_multi *(*multi_init)(void);
  int (*multi_cleanup)(ekn_multi *);
  int (*multi_setopt)(ekn_multi *, int, ...);
  int (*multi_add_handle)(ekn_multi *, ekn_easy *);
  int (*multi_remove_handle)(ekn_multi *, ekn_easy *);
  int (*multi_socket_action)(ekn_multi *, int, int, int *);
  ekn_message *(*multi_info_read)(ekn_multi *, int *);
} curl;

static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  // ISO C has no conversion from an object to a function pointer; POSIX dlsym asks for this one.
#define EKN_RESOLVE(name)                                            \
  *(void **)&curl.name = dlsym(library, "curl_" #name);              \
  if (!curl.name) return
  EKN_RESOLVE(global_init);
  EKN_RESOLVE(version);
  EKN_RESOLVE(easy_init);
  EKN_RESOLVE(easy_cleanup);
  EKN_RESOLVE(easy_reset);
  EKN_RESOLVE(easy_setopt);
  EKN_RESOLVE(easy_getinfo);
  EKN_RESOLVE(easy_pause);
  EKN_RESOLVE(easy_strerror);
  EKN_RESOLVE(slist_append);
  EKN_RESOLVE(slist_free_all);
  EKN_RESOLVE(multi_init);
  EKN_RESOLVE(multi_cleanup);
  EKN_RESOLVE(multi_setopt);
  EKN_RESOLVE(multi_add_handle);
  EKN_RESOLVE(multi_remove_handle);
  EKN_RESOLVE(multi_socket_action);
  EKN_RESOLVE(multi_info_read);
#undef EKN_RESOLVE
  loaded = curl.global_init(EKN_GLOBAL_DEFAULT) == 0;
}

bool ekn_curl_load(void) {
  pthread_once(&once, load);
  return loaded;
}

const char *ekn_curl_version(void) { return curl.version(); }

ekn_easy *ekn_easy_init(void) { return curl.easy_init(); }
void ekn_easy_cleanup(ekn_easy *easy) { curl.easy_cleanup(easy); }
void ekn_easy_reset(ekn_easy *easy) { curl.easy_reset(easy); }

int ekn_easy_set_long(ekn_easy *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int ekn_easy_set_offset(ekn_easy *easy, int option, int64_t value) { return curl.easy_setopt(easy, option, value); }
int ekn_easy_set_pointer(ekn_easy *easy, int option, const void *value) {
  return curl.easy_setopt(easy, option, value);
}
int ekn_easy_set_string(ekn_easy *easy, int option, const char *value) {
  return curl.easy_setopt(easy, option, value);
}
int ekn_easy_set_data_callback(ekn_easy *easy, int option, ekn_data_callback callback) {
  return curl.easy_setopt(easy, option, callback);
}
int ekn_easy_set_seek_callback(ekn_easy *easy, ekn_seek_callback callback) {
  return curl.easy_setopt(easy, EKN_OPT_SEEKFUNCTION, callback);
}
int ekn_easy_set_prereq_callback(ekn_easy *easy, ekn_prereq_callback callback, void *context) {
  int code = curl.easy_setopt(easy, EKN_OPT_PREREQDATA, context);
  return code ? code : curl.easy_setopt(easy, EKN_OPT_PREREQFUNCTION, callback);
}

typedef int (*debug_callback)(ekn_easy *, int, char *, size_t, void *);

static void note_line(ekn_refusal *refusal, const char *line) {
  unsigned int last = 0;
  const char *mark;
  if (sscanf(line, "Using Stream ID: %u", &refusal->stream) == 1) return;
  if (strncmp(line, "REFUSED_STREAM", 14) == 0) refusal->refused = true;
  if (strstr(line, " GOAWAY, ") && (mark = strstr(line, "last_stream=")) &&
      sscanf(mark, "last_stream=%u", &last) == 1 && last < refusal->stream)
    refusal->refused = true;
}

static int note_text(ekn_easy *easy, int kind, char *text, size_t length, void *refusal) {
  char line[128];
  (void)easy;
  if (kind != 0) return 0;
  if (length >= sizeof line) length = sizeof line - 1;
  memcpy(line, text, length);
  line[length] = 0;
  note_line(refusal, line);
  return 0;
}

void ekn_easy_watch_refusal(ekn_easy *easy, ekn_refusal *refusal) {
  curl.easy_setopt(easy, EKN_OPT_DEBUGDATA, refusal);
  curl.easy_setopt(easy, EKN_OPT_DEBUGFUNCTION, (debug_callback)note_text);
  curl.easy_setopt(easy, EKN_OPT_VERBOSE, 1L);
}

long ekn_easy_info_long(ekn_easy *easy, int info) {
  long value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}
int64_t ekn_easy_info_offset(ekn_easy *easy, int info) {
  int64_t value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}
const char *ekn_easy_info_string(ekn_easy *easy, int info) {
  const char *value = NULL;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : NULL;
}
void *ekn_easy_context(ekn_easy *easy) {
  void *context = NULL;
  return curl.easy_getinfo(easy, EKN_INFO_PRIVATE, &context) == 0 ? context : NULL;
}
int ekn_easy_pause(ekn_easy *easy, int bits) { return curl.easy_pause(easy, bits); }
const char *ekn_easy_strerror(int code) { return curl.easy_strerror(code); }

ekn_slist *ekn_slist_append(ekn_slist *list, const char *line) { return curl.slist_append(list, line); }
void ekn_slist_free(ekn_slist *list) { curl.slist_free_all(list); }

ekn_multi *ekn_multi_init(void) { return curl.multi_init(); }
void ekn_multi_cleanup(ekn_multi *multi) { curl.multi_cleanup(multi); }
int ekn_multi_set_long(ekn_multi *multi, int option, long value) { return curl.multi_setopt(multi, option, value); }
int ekn_multi_set_socket_callback(ekn_multi *multi, ekn_socket_callback callback, void *context) {
  int code = curl.multi_setopt(multi, EKN_MOPT_SOCKETDATA, context);
  return code ? code : curl.multi_setopt(multi, EKN_MOPT_SOCKETFUNCTION, callback);
}
int ekn_multi_set_timer_callback(ekn_multi *multi, ekn_timer_callback callback, void *context) {
  int code = curl.multi_setopt(multi, EKN_MOPT_TIMERDATA, context);
  return code ? code : curl.multi_setopt(multi, EKN_MOPT_TIMERFUNCTION, callback);
}
int ekn_multi_add(ekn_multi *multi, ekn_easy *easy) { return curl.multi_add_handle(multi, easy); }
int ekn_multi_remove(ekn_multi *multi, ekn_easy *easy) { return curl.multi_remove_handle(multi, easy); }
int ekn_multi_socket_action(ekn_multi *multi, int socket, int events, int *running) {
  return curl.multi_socket_action(multi, socket, events, running);
}

ekn_completion ekn_multi_next_completion(ekn_multi *multi) {
  ekn_completion completion = {0, 0};
  int remaining = 0;
  ekn_message *message;
  while ((message = curl.multi_info_read(multi, &remaining))) {
    if (message->msg != EKN_MESSAGE_DONE) continue;
    completion.easy = message->easy;
    completion.code = message->data.result;
    break;
  }
  return completion;
}

static struct {
  int (*easy_send)(ekn_easy *, const void *, size_t, size_t *);
  int (*easy_recv)(ekn_easy *, void *, size_t, size_t *);
} bare;

static bool bare_loaded;
static pthread_once_t bare_once = PTHREAD_ONCE_INIT;

static void load_bare(void) {
  if (!ekn_curl_load()) return;
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
#define EKN_RESOLVE(name)                                            \
  *(void **)&bare.name = dlsym(library, "curl_" #name);              \
  if (!bare.name) return
  EKN_RESOLVE(easy_send);
  EKN_RESOLVE(easy_recv);
#undef EKN_RESOLVE
  bare_loaded = true;
}

bool ekn_bare_load(void) {
  pthread_once(&bare_once, load_bare);
  return bare_loaded;
}

int ekn_bare_socket(ekn_easy *easy) {
  int descriptor = -1;
  return curl.easy_getinfo(easy, EKN_INFO_ACTIVESOCKET, &descriptor) == 0 ? descriptor : -1;
}
int ekn_bare_send(ekn_easy *easy, const void *bytes, size_t length, size_t *sent) {
  *sent = 0;
  return bare.easy_send(easy, bytes, length, sent);
}
int ekn_bare_receive(ekn_easy *easy, void *bytes, size_t length, size_t *received) {
  *received = 0;
  return bare.easy_recv(easy, bytes, length, received);
}

#endif
