// For dladdr.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "ekn_curl.h"
#include "ekn_tls.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// libcurl's CURLMsg.
typedef struct {
  int msg;
  ekn_easy *easy;
  union {
    void *whatever;
    int result;
  } data;
} ekn_message;

enum { EKN_MESSAGE_DONE = 1, EKN_GLOBAL_DEFAULT = 3, EKN_VERSION_FIRST = 0 };

// The beginning of libcurl's curl_version_info_data, which is the same in every version.
typedef struct {
  int age;
  const char *version;
  unsigned int version_number;
  const char *host;
  int features;
  const char *ssl_version;
} ekn_version_data;

// The functions that are needed: result, name after "curl_", parameters.
#define FUNCTIONS(X) \
  X(int, global_init, (long)) \
  X(ekn_version_data *, version_info, (int)) \
  X(ekn_easy *, easy_init, (void)) \
  X(void, easy_cleanup, (ekn_easy *)) \
  X(int, easy_setopt, (ekn_easy *, int, ...)) \
  X(int, easy_getinfo, (ekn_easy *, int, ...)) \
  X(const char *, easy_strerror, (int)) \
  X(int, easy_pause, (ekn_easy *, int)) \
  X(int, easy_send, (ekn_easy *, const void *, size_t, size_t *)) \
  X(int, easy_recv, (ekn_easy *, void *, size_t, size_t *)) \
  X(ekn_multi *, multi_init, (void)) \
  X(int, multi_cleanup, (ekn_multi *)) \
  X(int, multi_setopt, (ekn_multi *, int, ...)) \
  X(int, multi_add_handle, (ekn_multi *, ekn_easy *)) \
  X(int, multi_remove_handle, (ekn_multi *, ekn_easy *)) \
  X(int, multi_socket_action, (ekn_multi *, int, int, int *)) \
  X(ekn_message *, multi_info_read, (ekn_multi *, int *)) \
  X(ekn_list *, slist_append, (ekn_list *, const char *)) \
  X(void, slist_free_all, (ekn_list *))
// Those that may be missing.
#define SHARE_FUNCTIONS(X) \
  X(ekn_share *, share_init, (void)) \
  X(int, share_setopt, (ekn_share *, int, ...)) \
  X(int, share_cleanup, (ekn_share *))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct {
  FUNCTIONS(MEMBER)
  SHARE_FUNCTIONS(MEMBER)
} curl;

static const char *problem = "";
static ekn_version_data *version_data;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The symbols of a libcurl that is part of the program, linked by FoundationNetworking; NULL if no linked library
// contains it. With the Static Linux SDK there is no other, and no library can be opened.
#define LINKED(result, name, parameters) extern void linked_##name(void) __asm__("curl_" #name) __attribute__((weak));
FUNCTIONS(LINKED)
SHARE_FUNCTIONS(LINKED)

// NULL if libcurl is part of the program.
static void *library;

static void load(void);

// Whether the program was linked with an archive of libcurl: then it uses the version that it was tested with, whatever
// is installed.
static bool is_linked(void) {
  Dl_info own, other;
  if (!linked_global_init) return false;
  // A program without a dynamic linker consists of itself alone.
  if (!dladdr((void *)load, &own)) return true;
  return dladdr((void *)linked_global_init, &other) && own.dli_fbase == other.dli_fbase;
}

static void load(void) {
  if (!is_linked()) library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  problem = "libcurl.so.4";
  if (!library && !linked_global_init) return;
  // ISO C cannot convert an object pointer to a function pointer; POSIX dlsym requires this form.
#define RESOLVE(result, name, parameters) \
  *(void **)&curl.name = library ? dlsym(library, "curl_" #name) : (void *)linked_##name;
#define REQUIRE(result, name, parameters) \
  RESOLVE(result, name, parameters) \
  problem = "curl_" #name; \
  if (!curl.name) return;
  FUNCTIONS(REQUIRE)
  SHARE_FUNCTIONS(RESOLVE)
  ekn_tls_load(library);
  problem = curl.global_init(EKN_GLOBAL_DEFAULT) == 0 ? NULL : "curl_global_init";
  version_data = curl.version_info(EKN_VERSION_FIRST);
}

const char *ekn_curl_problem(void) {
  pthread_once(&once, load);
  return problem;
}

ekn_version ekn_curl_version(void) {
  return (ekn_version){version_data->ssl_version, version_data->version_number, version_data->features};
}

ekn_easy *ekn_easy_init(void) { return curl.easy_init(); }
void ekn_easy_cleanup(ekn_easy *easy) { curl.easy_cleanup(easy); }

bool ekn_easy_knows(ekn_easy *easy, int option) {
  enum { POINTERS = 10000, OFFSETS = 30000, NOT_BUILT_IN = 4, UNKNOWN_OPTION = 48 };
  int code = option < POINTERS   ? curl.easy_setopt(easy, option, 0L)
             : option < OFFSETS ? curl.easy_setopt(easy, option, NULL)
                                : curl.easy_setopt(easy, option, (int64_t)0);
  return code != NOT_BUILT_IN && code != UNKNOWN_OPTION;
}

int ekn_easy_set_long(ekn_easy *easy, int option, long value) { return curl.easy_setopt(easy, option, value); }
int ekn_easy_set_pointer(ekn_easy *easy, int option, const void *value) {
  return curl.easy_setopt(easy, option, value);
}
int ekn_easy_prepare_tls(ekn_easy *easy, ekn_tls_setup *setup) {
  int code = curl.easy_setopt(easy, EKN_OPT_SSL_CTX_DATA, setup);
  return code ? code : curl.easy_setopt(easy, EKN_OPT_SSL_CTX_FUNCTION, ekn_tls_prepare);
}

void ekn_easy_load_no_authorities(ekn_easy *easy) {
  // A list of revoked certificates (RFC 5280 §5) that names none, of an issuer without a name. Nobody is trusted because of it, but
  // newer versions of libcurl load their own file unless they are given something.
  static char list[] =
      "-----BEGIN X509 CRL-----\n"
      "MC4wHTAKBggqhkjOPQQDAjAAFw0yNTAxMDEwMDAwMDBaMAoGCCqGSM49BAMCAwEA\n"
      "-----END X509 CRL-----\n";
  // libcurl's curl_blob, which is not copied.
  const struct {
    void *data;
    size_t size;
    unsigned int flags;
  } blob = {list, sizeof list - 1, 0};
  curl.easy_setopt(easy, EKN_OPT_CAINFO, NULL);
  // Unknown before 7.77.
  curl.easy_setopt(easy, EKN_OPT_CAINFO_BLOB, &blob);
}

int ekn_easy_set_progress_callback(ekn_easy *easy, ekn_progress_callback callback, void *context) {
  int code = curl.easy_setopt(easy, EKN_OPT_XFERINFODATA, context);
  if (!code) code = curl.easy_setopt(easy, EKN_OPT_XFERINFOFUNCTION, callback);
  // Without a function, libcurl would write a progress meter to the standard error.
  return code ? code : curl.easy_setopt(easy, EKN_OPT_NOPROGRESS, callback ? 0L : 1L);
}

static int note_alert(ekn_easy *easy, int kind, const char *text, size_t size, void *error_text) {
  enum { INFO_TEXT = 0 };
  (void)easy;
  if (kind != INFO_TEXT || !memmem(text, size, " alert ", 7)) return 0;
  if (text[size - 1] == '\n') size--;
  if (size >= EKN_ERROR_SIZE) size = EKN_ERROR_SIZE - 1;
  memcpy(error_text, text, size);
  ((char *)error_text)[size] = 0;
  return 0;
}

void ekn_easy_note_alerts(ekn_easy *easy, char error_text[EKN_ERROR_SIZE]) {
  // Without a function, libcurl would write to the standard error.
  if (curl.easy_setopt(easy, EKN_OPT_DEBUGDATA, error_text) != 0) return;
  if (curl.easy_setopt(easy, EKN_OPT_DEBUGFUNCTION, note_alert) == 0) curl.easy_setopt(easy, EKN_OPT_VERBOSE, 1L);
}

// The fields of libcurl's curl_sockaddr that are used.
typedef struct {
  int family, type, protocol;
} socket_address;

typedef int (*resolver_callback)(void *, void *, void *);
typedef int (*socket_opener)(void *, int, socket_address *);

static int lookup_begins(void *resolver, void *reserved, void *context) {
  ekn_lookup *lookup = context;
  (void)resolver, (void)reserved;
  lookup->is_running = true;
  return 0;
}

static bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

bool ekn_lacks_descriptors(void) {
  int probes[3];
  int count = 0;
  bool lacks = false;
  for (; count < 3; count++) {
    probes[count] = eventfd(0, EFD_CLOEXEC);
    if (probes[count] >= 0) continue;
    lacks = is_shortage(errno);
    break;
  }
  while (count > 0) close(probes[--count]);
  return lacks;
}

// libcurl opens a socket once the name has been resolved.
static int opens_socket(void *context, int purpose, socket_address *address) {
  ekn_lookup *lookup = context;
  (void)purpose;
  lookup->is_running = false;
  lookup->sockets++;
  // With ALPN, libcurl 7.88 asks for a Unix domain socket with the protocol of TCP, which is refused.
  int protocol = address->family == AF_UNIX ? 0 : address->protocol;
  int descriptor = socket(address->family, address->type | SOCK_CLOEXEC, protocol);
  if (descriptor < 0 && is_shortage(errno)) lookup->lacks_resources = true;
  return descriptor;
}

int ekn_easy_watch_lookup(ekn_easy *easy, ekn_lookup *lookup) {
  int code = curl.easy_setopt(easy, EKN_OPT_RESOLVER_START_DATA, lookup);
  return code ? code : curl.easy_setopt(easy, EKN_OPT_RESOLVER_START_FUNCTION, (resolver_callback)lookup_begins);
}

int ekn_easy_open_sockets(ekn_easy *easy, ekn_lookup *lookup) {
  int code = curl.easy_setopt(easy, EKN_OPT_OPENSOCKETDATA, lookup);
  return code ? code : curl.easy_setopt(easy, EKN_OPT_OPENSOCKETFUNCTION, (socket_opener)opens_socket);
}

long ekn_easy_info_long(ekn_easy *easy, int info) {
  long value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}
int64_t ekn_easy_info_offset(ekn_easy *easy, int info) {
  int64_t value = 0;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : 0;
}
const void *ekn_easy_info_pointer(ekn_easy *easy, int info) {
  const void *value = NULL;
  return curl.easy_getinfo(easy, info, &value) == 0 ? value : NULL;
}

int ekn_easy_socket(ekn_easy *easy) {
  int descriptor = -1;
  return curl.easy_getinfo(easy, EKN_INFO_ACTIVESOCKET, &descriptor) == 0 ? descriptor : -1;
}
const char *ekn_easy_strerror(int code) { return curl.easy_strerror(code); }

ekn_share *ekn_share_names(void) {
  ekn_share *share = curl.share_init && curl.share_setopt && curl.share_cleanup ? curl.share_init() : NULL;
  if (share) curl.share_setopt(share, EKN_SHOPT_SHARE, EKN_LOCK_DATA_DNS);
  return share;
}

void ekn_share_free(ekn_share *share) {
  if (share) curl.share_cleanup(share);
}

ekn_list *ekn_list_of(const char *entry) { return curl.slist_append(NULL, entry); }
void ekn_list_free(ekn_list *list) { curl.slist_free_all(list); }

// Since 8.20 the resolver threads belong to the multi handle: at most 20, which its cleanup waits for. Older versions
// know neither option and do not need them: each lookup has a thread of its own.
ekn_multi *ekn_multi_init(void) {
  ekn_multi *multi = curl.multi_init();
  if (multi) {
    curl.multi_setopt(multi, EKN_MOPT_QUICK_EXIT, 1L);
    curl.multi_setopt(multi, EKN_MOPT_RESOLVE_THREADS_MAX, 256L);
  }
  return multi;
}
void ekn_multi_cleanup(ekn_multi *multi) { curl.multi_cleanup(multi); }
int ekn_multi_set_callbacks(
  ekn_multi *multi, ekn_socket_callback on_socket, ekn_timer_callback on_timer, void *context) {
  int code = curl.multi_setopt(multi, EKN_MOPT_SOCKETDATA, context);
  if (!code) code = curl.multi_setopt(multi, EKN_MOPT_SOCKETFUNCTION, on_socket);
  if (!code) code = curl.multi_setopt(multi, EKN_MOPT_TIMERDATA, context);
  return code ? code : curl.multi_setopt(multi, EKN_MOPT_TIMERFUNCTION, on_timer);
}
int ekn_multi_add(ekn_multi *multi, ekn_easy *easy) { return curl.multi_add_handle(multi, easy); }
int ekn_multi_remove(ekn_multi *multi, ekn_easy *easy) { return curl.multi_remove_handle(multi, easy); }
int ekn_multi_socket_action(ekn_multi *multi, int socket, int events, int *running) {
  return curl.multi_socket_action(multi, socket, events, running);
}

void ekn_easy_wake(ekn_easy *easy) {
  // Nothing is received yet: what counts is that libcurl is due at once for a handle that continues (CURLPAUSE_RECV, then
  // CURLPAUSE_CONT).
  if (curl.easy_pause(easy, 1) == 0) curl.easy_pause(easy, 0);
}

ekn_easy *ekn_multi_next_ended(ekn_multi *multi, int *code) {
  int remaining = 0;
  ekn_message *message;
  while ((message = curl.multi_info_read(multi, &remaining))) {
    if (message->msg != EKN_MESSAGE_DONE) continue;
    *code = message->data.result;
    return message->easy;
  }
  return NULL;
}

int ekn_easy_send(ekn_easy *easy, const void *bytes, size_t length, size_t *sent) {
  *sent = 0;
  return curl.easy_send(easy, bytes, length, sent);
}
int ekn_easy_receive(ekn_easy *easy, void *bytes, size_t length, size_t *received) {
  *received = 0;
  return curl.easy_recv(easy, bytes, length, received);
}

#endif
