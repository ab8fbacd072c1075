#include "CZlib.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

// zlib's z_stream: its layout is part of zlib's ABI, and the init functions check it by its size.
typedef struct ekn_zstream {
  const uint8_t *next_in;
  unsigned avail_in;
  unsigned long total_in;
  uint8_t *next_out;
  unsigned avail_out;
  unsigned long total_out;
  const char *message;
  void *state;
  void *allocate;
  void *deallocate;
  void *opaque;
  int data_type;
  unsigned long adler;
  unsigned long reserved;
} ekn_zstream;

enum { Z_OK_ = 0, Z_STREAM_END_ = 1, Z_BUF_ERROR_ = -5, Z_SYNC_FLUSH_ = 2, Z_DEFLATED_ = 8 };

// Result, name, parameters.
#define FUNCTIONS(X) \
  X(int, deflateInit2_, (ekn_zstream *, int, int, int, int, int, const char *, int)) \
  X(int, deflate, (ekn_zstream *, int)) \
  X(int, deflateReset, (ekn_zstream *)) \
  X(int, deflateEnd, (ekn_zstream *)) \
  X(int, inflateInit2_, (ekn_zstream *, int, const char *, int)) \
  X(int, inflate, (ekn_zstream *, int)) \
  X(int, inflateReset, (ekn_zstream *)) \
  X(int, inflateResetKeep, (ekn_zstream *)) \
  X(int, inflateEnd, (ekn_zstream *)) \
  X(const char *, zlibVersion, (void))

#define MEMBER(result, name, parameters) result(*name) parameters;
static struct {
  FUNCTIONS(MEMBER)
} zlib;
static bool available;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The symbols of a zlib that is part of the program. musl stands for the Static Linux SDK, which cannot open libraries
// and contains zlib; nothing else there refers to its compressing half.
#if defined(__linux__) && defined(__GLIBC__)
#define LINKED(result, name, parameters) extern void linked_##name(void) __asm__(#name) __attribute__((weak));
#elif defined(__linux__)
#define LINKED(result, name, parameters) extern void linked_##name(void) __asm__(#name);
#else
#define LINKED(result, name, parameters) static void (*const linked_##name)(void) = NULL;
#endif
FUNCTIONS(LINKED)

static void load(void) {
#if defined(__APPLE__)
  void *library = dlopen("/usr/lib/libz.1.dylib", RTLD_NOW | RTLD_LOCAL);
#else
  void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
  // ISO C cannot convert an object pointer to a function pointer; POSIX dlsym requires this form.
#define RESOLVE(result, name, parameters) \
  if (!(*(void **)&zlib.name = library ? dlsym(library, #name) : (void *)linked_##name)) return;
  FUNCTIONS(RESOLVE)
  available = true;
}

bool ekn_zlib_available(void) {
  pthread_once(&once, load);
  return available;
}

static ekn_zlib_status run(int (*function)(ekn_zstream *, int), ekn_zstream *stream, const uint8_t **input,
                           size_t *input_length, uint8_t **output, size_t *output_length) {
  stream->next_in = *input;
  stream->avail_in = *input_length > UINT_MAX ? UINT_MAX : (unsigned)*input_length;
  stream->next_out = *output;
  stream->avail_out = *output_length > UINT_MAX ? UINT_MAX : (unsigned)*output_length;
  int code = function(stream, Z_SYNC_FLUSH_);
  *input_length -= (size_t)(stream->next_in - *input);
  *input = stream->next_in;
  *output_length -= (size_t)(stream->next_out - *output);
  *output = stream->next_out;
  if (code == Z_STREAM_END_) return EKN_ZLIB_END;
  return code == Z_OK_ || code == Z_BUF_ERROR_ ? EKN_ZLIB_OK : EKN_ZLIB_CORRUPT;
}

static ekn_zstream *allocate(void) { return ekn_zlib_available() ? calloc(1, sizeof(ekn_zstream)) : NULL; }

ekn_deflater *ekn_deflater_create(int window_bits) {
  ekn_zstream *stream = allocate();
  if (stream && zlib.deflateInit2_(stream, -1, Z_DEFLATED_, -window_bits, 8, 0, zlib.zlibVersion(), sizeof *stream) == Z_OK_)
    return stream;
  free(stream);
  return NULL;
}

void ekn_deflater_free(ekn_deflater *deflater) {
  zlib.deflateEnd(deflater);
  free(deflater);
}

void ekn_deflater_reset(ekn_deflater *deflater) { zlib.deflateReset(deflater); }

ekn_zlib_status ekn_deflater_run(ekn_deflater *deflater, const uint8_t **input, size_t *input_length,
                                 uint8_t **output, size_t *output_length) {
  return run(zlib.deflate, deflater, input, input_length, output, output_length);
}

ekn_inflater *ekn_inflater_create(ekn_zlib_format format) {
  ekn_zstream *stream = allocate();
  if (stream && zlib.inflateInit2_(stream, format, zlib.zlibVersion(), sizeof *stream) == Z_OK_) return stream;
  free(stream);
  return NULL;
}

void ekn_inflater_free(ekn_inflater *inflater) {
  zlib.inflateEnd(inflater);
  free(inflater);
}

bool ekn_inflater_reset(ekn_inflater *inflater) { return zlib.inflateReset(inflater) == Z_OK_; }

bool ekn_inflater_continue(ekn_inflater *inflater) { return zlib.inflateResetKeep(inflater) == Z_OK_; }

ekn_zlib_status ekn_inflater_run(ekn_inflater *inflater, const uint8_t **input, size_t *input_length,
                                 uint8_t **output, size_t *output_length) {
  return run(zlib.inflate, inflater, input, input_length, output, output_length);
}
