#include "ekn_http2.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>

typedef struct {
  int32_t id;
  uint32_t value;
} setting;
typedef struct {
  void *source;
  ekn_http2_reader *read;
} provider;

enum { ENABLE_PUSH = 2, MAXIMUM_STREAMS = 3, INITIAL_WINDOW = 4, MAXIMUM_HEAD = 6 };

// The functions that are needed: result, name after "nghttp2_", parameters.
#define FUNCTIONS(X) \
  X(int, session_callbacks_new, (void **)) \
  X(void, session_callbacks_del, (void *)) \
  X(void, session_callbacks_set_on_begin_frame_callback, (void *, ekn_http2_frame_callback *)) \
  X(void, session_callbacks_set_on_header_callback, (void *, ekn_http2_field_callback *)) \
  X(void, session_callbacks_set_on_invalid_header_callback, (void *, ekn_http2_field_callback *)) \
  X(void, session_callbacks_set_on_frame_recv_callback, (void *, ekn_http2_frame_callback *)) \
  X(void, session_callbacks_set_on_data_chunk_recv_callback, (void *, ekn_http2_data_callback *)) \
  X(void, session_callbacks_set_on_stream_close_callback, (void *, ekn_http2_close_callback *)) \
  X(int, session_client_new2, (ekn_http2 **, const void *, void *, const void *)) \
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
  X(int32_t, submit_request, (void *, const void *, const ekn_http2_field *, size_t, const provider *, void *)) \
  X(int, submit_rst_stream, (void *, uint8_t, int32_t, uint32_t)) \
  X(int, submit_ping, (void *, uint8_t, const uint8_t *)) \
  X(int, submit_trailer, (void *, int32_t, const ekn_http2_field *, size_t)) \
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

// Otherwise nghttp2 would leave the field out.
static int on_invalid_field(
  ekn_http2 *session, const ekn_http2_frame *frame, const uint8_t *name, size_t name_length, const uint8_t *value,
  size_t value_length, uint8_t flags, void *context) {
  (void)session, (void)frame, (void)name, (void)name_length, (void)value, (void)value_length, (void)flags, (void)context;
  return EKN_HTTP2_FAILED;
}

static ekn_http2 *new_session(const ekn_http2_callbacks *own, void *context) {
  void *callbacks = NULL, *options = NULL;
  ekn_http2 *session = NULL;
  if (nghttp2.session_callbacks_new(&callbacks) == 0 && nghttp2.option_new(&options) == 0) {
    nghttp2.session_callbacks_set_on_begin_frame_callback(callbacks, own->begin_frame);
    nghttp2.session_callbacks_set_on_header_callback(callbacks, own->field);
    nghttp2.session_callbacks_set_on_invalid_header_callback(callbacks, on_invalid_field);
    nghttp2.session_callbacks_set_on_frame_recv_callback(callbacks, own->frame);
    nghttp2.session_callbacks_set_on_data_chunk_recv_callback(callbacks, own->data);
    nghttp2.session_callbacks_set_on_stream_close_callback(callbacks, own->closed);
    nghttp2.option_set_no_auto_window_update(options, 1);
    nghttp2.option_set_no_closed_streams(options, 1);
    // Its own limit is 64 KiB. Requests may be as large as over HTTP/1.1.
    nghttp2.option_set_max_send_header_block_length(options, 16 << 20);
    // Its own limit is 8 frames of 16 KiB, beyond which it ends the connection: a head that HTTP/1.1 would accept, or that is an
    // error of its stream alone, would end all other streams.
    if (set_max_continuations) set_max_continuations(options, 64);
    if (nghttp2.session_client_new2(&session, callbacks, context, options) != 0) session = NULL;
  }
  if (callbacks) nghttp2.session_callbacks_del(callbacks);
  if (options) nghttp2.option_del(options);
  return session;
}

ekn_http2 *ekn_http2_client(
  const ekn_http2_callbacks *callbacks, void *context, int32_t stream_window, int32_t connection_window, uint32_t maximum_head) {
  ekn_http2 *session = new_session(callbacks, context);
  setting settings[] = {{ENABLE_PUSH, 0}, {INITIAL_WINDOW, (uint32_t)stream_window}, {MAXIMUM_HEAD, maximum_head}};
  if (session && nghttp2.submit_settings(session, 0, settings, 3) == 0 &&
      nghttp2.session_set_local_window_size(session, 0, 0, connection_window) == 0) {
    return session;
  }
  if (session) ekn_http2_free(session);
  return NULL;
}

void ekn_http2_free(ekn_http2 *session) { nghttp2.session_del(session); }

int ekn_http2_receive(ekn_http2 *session, const uint8_t *bytes, size_t count) {
  ssize_t done = nghttp2.session_mem_recv(session, bytes, count);
  return done < 0 ? (int)done : 0;
}

ptrdiff_t ekn_http2_take(ekn_http2 *session, const uint8_t **bytes) { return nghttp2.session_mem_send(session, bytes); }
bool ekn_http2_wants_to_send(ekn_http2 *session) { return nghttp2.session_want_write(session); }
bool ekn_http2_is_over(ekn_http2 *session) { return !nghttp2.session_want_read(session); }

int32_t ekn_http2_request(ekn_http2 *session, const ekn_http2_field *fields, size_t count, ekn_http2_reader *body) {
  provider source = {NULL, body};
  return nghttp2.submit_request(session, NULL, fields, count, body ? &source : NULL, NULL);
}

bool ekn_http2_trailers(ekn_http2 *session, int32_t stream, const ekn_http2_field *fields, size_t count) {
  return nghttp2.submit_trailer(session, stream, fields, count) == 0;
}

void ekn_http2_resume(ekn_http2 *session, int32_t stream) { nghttp2.session_resume_data(session, stream); }
void ekn_http2_consume(ekn_http2 *session, int32_t stream, size_t count) { nghttp2.session_consume(session, stream, count); }
void ekn_http2_reset(ekn_http2 *session, int32_t stream, uint32_t code) { nghttp2.submit_rst_stream(session, 0, stream, code); }
void ekn_http2_ping(ekn_http2 *session) { nghttp2.submit_ping(session, 0, NULL); }
void ekn_http2_goaway(ekn_http2 *session, uint32_t code) { nghttp2.session_terminate_session(session, code); }
void ekn_http2_set_window(ekn_http2 *session, int32_t stream, int32_t window) {
  nghttp2.session_set_local_window_size(session, 0, stream, window);
}
uint32_t ekn_http2_maximum_streams(ekn_http2 *session) { return nghttp2.session_get_remote_settings(session, MAXIMUM_STREAMS); }
bool ekn_http2_has_sent(ekn_http2 *session, int32_t stream) { return nghttp2.session_find_stream(session, stream); }
bool ekn_http2_accepts_requests(ekn_http2 *session) { return nghttp2.session_check_request_allowed(session); }

#endif
