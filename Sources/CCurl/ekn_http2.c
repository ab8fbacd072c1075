#include "ekn_http2.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

// nghttp2's structures, as far as they are used.
typedef struct {
  size_t length;
  int32_t stream;
  uint8_t type, flags, reserved;
} frame_head;
typedef struct {
  frame_head head;
  int32_t last_stream;
  uint32_t code;
} goaway_frame;
typedef struct {
  uint8_t *name, *value;
  size_t name_length, value_length;
  uint8_t flags;
} pair;
typedef struct {
  int32_t id;
  uint32_t value;
} setting;
typedef struct {
  void *source;
  ssize_t (*read)(void *, int32_t, uint8_t *, size_t, uint32_t *, void **, void *);
} provider;

enum { DATA = 0, HEADERS = 1, PING = 6, GOAWAY = 7 };
enum { END_STREAM = 1, ACK = 1 };
enum { DATA_END = 1, DATA_NO_END_STREAM = 2 };
enum { DEFERRED = -508, STREAM_FAILED = -521, FAILED = -902 };
enum { ENABLE_PUSH = 2, MAXIMUM_STREAMS = 3, INITIAL_WINDOW = 4, MAXIMUM_HEAD = 6 };

typedef int field_callback(void *, const void *, const uint8_t *, size_t, const uint8_t *, size_t, uint8_t, void *);

// The functions that are needed: result, name after "nghttp2_", parameters.
#define FUNCTIONS(X) \
  X(int, session_callbacks_new, (void **)) \
  X(void, session_callbacks_del, (void *)) \
  X(void, session_callbacks_set_on_begin_frame_callback, (void *, int (*)(void *, const void *, void *))) \
  X(void, session_callbacks_set_on_header_callback, (void *, field_callback *)) \
  X(void, session_callbacks_set_on_invalid_header_callback, (void *, field_callback *)) \
  X(void, session_callbacks_set_on_frame_recv_callback, (void *, int (*)(void *, const void *, void *))) \
  X(void, session_callbacks_set_on_data_chunk_recv_callback, \
    (void *, int (*)(void *, uint8_t, int32_t, const uint8_t *, size_t, void *))) \
  X(void, session_callbacks_set_on_stream_close_callback, (void *, int (*)(void *, int32_t, uint32_t, void *))) \
  X(int, session_client_new2, (void **, const void *, void *, const void *)) \
  X(void, session_del, (void *)) \
  X(ssize_t, session_mem_recv, (void *, const uint8_t *, size_t)) \
  X(ssize_t, session_mem_send, (void *, const uint8_t **)) \
  X(int, session_want_read, (void *)) \
  X(int, session_want_write, (void *)) \
  X(int, session_consume, (void *, int32_t, size_t)) \
  X(int, session_resume_data, (void *, int32_t)) \
  X(int, session_set_local_window_size, (void *, uint8_t, int32_t, int32_t)) \
  X(uint32_t, session_get_remote_settings, (void *, int)) \
  X(int, session_check_request_allowed, (void *)) \
  X(void *, session_find_stream, (void *, int32_t)) \
  X(int, session_terminate_session, (void *, uint32_t)) \
  X(int, submit_settings, (void *, uint8_t, const setting *, size_t)) \
  X(int32_t, submit_request, (void *, const void *, const pair *, size_t, const provider *, void *)) \
  X(int, submit_rst_stream, (void *, uint8_t, int32_t, uint32_t)) \
  X(int, submit_ping, (void *, uint8_t, const uint8_t *)) \
  X(int, submit_trailer, (void *, int32_t, const pair *, size_t)) \
  X(int, option_new, (void **)) \
  X(void, option_del, (void *)) \
  X(void, option_set_no_auto_window_update, (void *, int)) \
  X(void, option_set_no_closed_streams, (void *, int)) \
  X(void, option_set_max_send_header_block_length, (void *, size_t)) \
  X(const char *, strerror, (int))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct {
  FUNCTIONS(MEMBER)
} nghttp2;
// Versions without it have no limit.
static void (*set_max_continuations)(void *, size_t);

static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  void *library = dlopen("libnghttp2.so.14", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  // ISO C cannot convert an object pointer to a function pointer; POSIX dlsym requires this form.
#define RESOLVE(result, name, parameters) \
  if (!(*(void **)&nghttp2.name = dlsym(library, "nghttp2_" #name))) return;
  FUNCTIONS(RESOLVE)
  *(void **)&set_max_continuations = dlsym(library, "nghttp2_option_set_max_continuations");
  loaded = true;
}

bool ekn_http2_load(void) {
  pthread_once(&once, load);
  return loaded;
}

const char *ekn_http2_strerror(int code) { return nghttp2.strerror(code); }

struct ekn_http2 {
  void *session;
  ekn_http2_callbacks callbacks;
  void *context;
  // Whether trailers end the body that is being read.
  bool has_trailers;
};

static int on_begin(void *session, const void *head, void *context) {
  ekn_http2 *own = context;
  (void)session, (void)head;
  own->callbacks.frame(own->context);
  return 0;
}

// Otherwise nghttp2 would leave the field out.
static int on_invalid_field(
  void *session, const void *frame, const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length,
  uint8_t flags, void *context) {
  (void)session, (void)frame, (void)name, (void)name_length, (void)value, (void)value_length, (void)flags, (void)context;
  return STREAM_FAILED;
}

static int on_field(
  void *session, const void *frame, const uint8_t *name, size_t name_length, const uint8_t *value, size_t value_length,
  uint8_t flags, void *context) {
  ekn_http2 *own = context;
  ekn_http2_field field = {name, value, name_length, value_length};
  (void)session, (void)flags;
  return own->callbacks.field(own->context, ((const frame_head *)frame)->stream, field) ? 0 : STREAM_FAILED;
}

static int on_frame(void *session, const void *frame, void *context) {
  ekn_http2 *own = context;
  const frame_head *head = frame;
  (void)session;
  switch (head->type) {
  case HEADERS: own->callbacks.head(own->context, head->stream); break;
  case PING:
    if (head->flags & ACK) own->callbacks.pong(own->context);
    break;
  case GOAWAY: own->callbacks.goaway(own->context, ((const goaway_frame *)frame)->code); break;
  default: break;
  }
  if ((head->type == HEADERS || head->type == DATA) && head->flags & END_STREAM) own->callbacks.ended(own->context, head->stream);
  return 0;
}

static int on_data(void *session, uint8_t flags, int32_t stream, const uint8_t *bytes, size_t count, void *context) {
  ekn_http2 *own = context;
  (void)session, (void)flags;
  own->callbacks.data(own->context, stream, bytes, count);
  return 0;
}

static int on_close(void *session, int32_t stream, uint32_t code, void *context) {
  ekn_http2 *own = context;
  (void)session;
  own->callbacks.closed(own->context, stream, code);
  return 0;
}

static ssize_t on_read(
  void *session, int32_t stream, uint8_t *buffer, size_t length, uint32_t *flags, void **source, void *context) {
  ekn_http2 *own = context;
  (void)session, (void)source;
  bool is_end = false;
  own->has_trailers = false;
  ptrdiff_t count = own->callbacks.read(own->context, stream, buffer, length, &is_end);
  if (is_end) *flags |= DATA_END;
  if (own->has_trailers) *flags |= DATA_NO_END_STREAM;
  return count >= 0 ? count : count == EKN_HTTP2_PENDING ? DEFERRED : STREAM_FAILED;
}

static void *new_session(ekn_http2 *own) {
  void *callbacks = NULL, *options = NULL, *session = NULL;
  if (nghttp2.session_callbacks_new(&callbacks) == 0 && nghttp2.option_new(&options) == 0) {
    nghttp2.session_callbacks_set_on_begin_frame_callback(callbacks, on_begin);
    nghttp2.session_callbacks_set_on_header_callback(callbacks, on_field);
    nghttp2.session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_field);
    nghttp2.session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2.session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2.session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2.option_set_no_auto_window_update(options, 1);
    nghttp2.option_set_no_closed_streams(options, 1);
    // Its own limit is 64 KiB. Requests may be as large as over HTTP/1.1.
    nghttp2.option_set_max_send_header_block_length(options, 16 << 20);
    // Its own limit is 8 frames of 16 KiB, beyond which it ends the connection: a head that HTTP/1.1 would accept, or that is an
    // error of its stream alone, would end all other streams.
    if (set_max_continuations) set_max_continuations(options, 64);
    if (nghttp2.session_client_new2(&session, callbacks, own, options) != 0) session = NULL;
  }
  if (callbacks) nghttp2.session_callbacks_del(callbacks);
  if (options) nghttp2.option_del(options);
  return session;
}

ekn_http2 *ekn_http2_client(
  const ekn_http2_callbacks *callbacks, void *context, int32_t stream_window, int32_t connection_window, uint32_t maximum_head) {
  ekn_http2 *own = malloc(sizeof(*own));
  if (!own) return NULL;
  own->callbacks = *callbacks;
  own->context = context;
  own->has_trailers = false;
  own->session = new_session(own);
  setting settings[] = {{ENABLE_PUSH, 0}, {INITIAL_WINDOW, (uint32_t)stream_window}, {MAXIMUM_HEAD, maximum_head}};
  if (own->session && nghttp2.submit_settings(own->session, 0, settings, 3) == 0 &&
      nghttp2.session_set_local_window_size(own->session, 0, 0, connection_window) == 0) {
    return own;
  }
  ekn_http2_free(own);
  return NULL;
}

void ekn_http2_free(ekn_http2 *own) {
  if (own->session) nghttp2.session_del(own->session);
  free(own);
}

int ekn_http2_receive(ekn_http2 *own, const uint8_t *bytes, size_t count) {
  ssize_t done = nghttp2.session_mem_recv(own->session, bytes, count);
  return done < 0 ? (int)done : 0;
}

ptrdiff_t ekn_http2_take(ekn_http2 *own, const uint8_t **bytes) { return nghttp2.session_mem_send(own->session, bytes); }
bool ekn_http2_wants_to_send(ekn_http2 *own) { return nghttp2.session_want_write(own->session); }
bool ekn_http2_is_over(ekn_http2 *own) { return !nghttp2.session_want_read(own->session); }

enum { FEW = 64 };

// Fills `few`, or more memory, which must be freed then. Returns NULL if there is none left.
static pair *make_pairs(pair *few, const ekn_http2_field *fields, size_t count) {
  pair *pairs = count <= FEW ? few : malloc(count * sizeof(pair));
  for (size_t i = 0; pairs && i < count; i++) {
    pairs[i] = (pair){(uint8_t *)fields[i].name, (uint8_t *)fields[i].value, fields[i].name_length, fields[i].value_length, 0};
  }
  return pairs;
}

int32_t ekn_http2_request(ekn_http2 *own, const ekn_http2_field *fields, size_t count, bool has_body) {
  pair few[FEW], *pairs = make_pairs(few, fields, count);
  if (!pairs) return FAILED;
  provider body = {NULL, on_read};
  int32_t stream = nghttp2.submit_request(own->session, NULL, pairs, count, has_body ? &body : NULL, NULL);
  if (pairs != few) free(pairs);
  return stream;
}

bool ekn_http2_trailers(ekn_http2 *own, int32_t stream, const ekn_http2_field *fields, size_t count) {
  pair few[FEW], *pairs = make_pairs(few, fields, count);
  if (!pairs) return false;
  own->has_trailers = nghttp2.submit_trailer(own->session, stream, pairs, count) == 0;
  if (pairs != few) free(pairs);
  return own->has_trailers;
}

void ekn_http2_resume(ekn_http2 *own, int32_t stream) { nghttp2.session_resume_data(own->session, stream); }
void ekn_http2_consume(ekn_http2 *own, int32_t stream, size_t count) { nghttp2.session_consume(own->session, stream, count); }
void ekn_http2_reset(ekn_http2 *own, int32_t stream, uint32_t code) { nghttp2.submit_rst_stream(own->session, 0, stream, code); }
void ekn_http2_ping(ekn_http2 *own) { nghttp2.submit_ping(own->session, 0, NULL); }
void ekn_http2_goaway(ekn_http2 *own, uint32_t code) { nghttp2.session_terminate_session(own->session, code); }
void ekn_http2_set_window(ekn_http2 *own, int32_t stream, int32_t window) {
  nghttp2.session_set_local_window_size(own->session, 0, stream, window);
}
uint32_t ekn_http2_maximum_streams(ekn_http2 *own) { return nghttp2.session_get_remote_settings(own->session, MAXIMUM_STREAMS); }
bool ekn_http2_has_sent(ekn_http2 *own, int32_t stream) { return nghttp2.session_find_stream(own->session, stream); }
bool ekn_http2_accepts_requests(ekn_http2 *own) { return nghttp2.session_check_request_allowed(own->session); }

#endif
