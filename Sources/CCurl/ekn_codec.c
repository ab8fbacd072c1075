#include "ekn_codec.h"

#if defined(__linux__)

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "CZlib.h"

typedef struct {
  const void *data;
  size_t size;
  size_t position;
} ekn_zstd_input;

typedef struct {
  void *data;
  size_t size;
  size_t position;
} ekn_zstd_output;

enum { BROTLI_ERROR_ = 0, BROTLI_SUCCESS_ = 1 };

static struct {
  void *(*create)(void *, void *, void *);
  int (*run)(void *, size_t *, const uint8_t **, size_t *, uint8_t **, size_t *);
  void (*destroy)(void *);
  bool available;
} brotli;

static struct {
  void *(*create)(void);
  size_t (*run)(void *, ekn_zstd_output *, ekn_zstd_input *);
  unsigned (*is_error)(size_t);
  size_t (*destroy)(void *);
  size_t (*set)(void *, int, int);
  bool available;
} zstd;

// ZSTD_d_windowLogMax. RFC 9659: a decoder for this content coding needs a window of 8 MB at most; the library's own
// limit is 128 MB, for each layer of coding.
enum { ZSTD_WINDOW_LOG_MAX_ = 100, ZSTD_WINDOW_LOG_ = 23 };

static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool resolve(void *library, void *slot, const char *name) {
  return (*(void **)slot = dlsym(library, name)) != NULL;
}

static void load(void) {
  void *library = dlopen("libbrotlidec.so.1", RTLD_NOW | RTLD_LOCAL);
  brotli.available = library && resolve(library, &brotli.create, "BrotliDecoderCreateInstance") &&
                     resolve(library, &brotli.run, "BrotliDecoderDecompressStream") &&
                     resolve(library, &brotli.destroy, "BrotliDecoderDestroyInstance");
  library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  zstd.available = library && resolve(library, &zstd.create, "ZSTD_createDStream") &&
                   resolve(library, &zstd.run, "ZSTD_decompressStream") &&
                   resolve(library, &zstd.is_error, "ZSTD_isError") &&
                   resolve(library, &zstd.destroy, "ZSTD_freeDStream") &&
                   resolve(library, &zstd.set, "ZSTD_DCtx_setParameter");
}

bool ekn_codec_available(ekn_codec codec) {
  pthread_once(&once, load);
  switch (codec) {
    case EKN_CODEC_GZIP:
    case EKN_CODEC_DEFLATE: return ekn_zlib_available();
    case EKN_CODEC_BROTLI: return brotli.available;
    case EKN_CODEC_ZSTD: return zstd.available;
  }
  return false;
}

struct ekn_decoder {
  ekn_codec codec;
  bool ended;  // a complete stream was decoded, and nothing after it
  ekn_inflater *inflater;  // for deflate, created with the first byte
  void *state;
};

ekn_decoder *ekn_decoder_create(ekn_codec codec) {
  if (!ekn_codec_available(codec)) return NULL;
  ekn_decoder *decoder = calloc(1, sizeof *decoder);
  if (!decoder) return NULL;
  decoder->codec = codec;
  bool ok = true;
  switch (codec) {
    case EKN_CODEC_GZIP: ok = (decoder->inflater = ekn_inflater_create(EKN_FORMAT_GZIP)) != NULL; break;
    case EKN_CODEC_DEFLATE: break;
    case EKN_CODEC_BROTLI: ok = (decoder->state = brotli.create(NULL, NULL, NULL)) != NULL; break;
    case EKN_CODEC_ZSTD:
      ok = (decoder->state = zstd.create()) != NULL;
      if (ok && zstd.is_error(zstd.set(decoder->state, ZSTD_WINDOW_LOG_MAX_, ZSTD_WINDOW_LOG_))) {
        zstd.destroy(decoder->state);
        ok = false;
      }
      break;
  }
  if (ok) return decoder;
  free(decoder);
  return NULL;
}

void ekn_decoder_free(ekn_decoder *decoder) {
  if (decoder->inflater) ekn_inflater_free(decoder->inflater);
  if (decoder->state && decoder->codec == EKN_CODEC_BROTLI) brotli.destroy(decoder->state);
  if (decoder->state && decoder->codec == EKN_CODEC_ZSTD) zstd.destroy(decoder->state);
  free(decoder);
}

static ekn_decoder_status run_zlib(ekn_decoder *decoder, const uint8_t **input, size_t *input_length,
                                   uint8_t **output, size_t *output_length) {
  if (!decoder->inflater) {
    if (*input_length == 0) return EKN_DECODER_MORE;
    // RFC 9110 §8.4.1.2: "deflate" is the zlib format, but some servers send a raw deflate stream. The low half of a
    // zlib header's first byte is 8, with which no encoder's raw stream begins.
    decoder->inflater = ekn_inflater_create((**input & 0x0f) == 8 ? EKN_FORMAT_ZLIB : EKN_FORMAT_RAW);
    if (!decoder->inflater) return EKN_DECODER_CORRUPT;
  }
  switch (ekn_inflater_run(decoder->inflater, input, input_length, output, output_length)) {
    case EKN_ZLIB_OK: return EKN_DECODER_MORE;
    case EKN_ZLIB_END: return EKN_DECODER_END;
    case EKN_ZLIB_CORRUPT: break;
  }
  return EKN_DECODER_CORRUPT;
}

// Prepares for input after a complete stream; false if none may follow. gzip (RFC 1952 §2.2) and zstd (RFC 8878 §3) are
// series of members.
static bool begin_next_member(ekn_decoder *decoder, uint8_t first_byte) {
  switch (decoder->codec) {
    case EKN_CODEC_GZIP: return first_byte == 0x1f && ekn_inflater_reset(decoder->inflater);
    case EKN_CODEC_ZSTD: return true;
    default: return false;
  }
}

static ekn_decoder_status run(ekn_decoder *decoder, const uint8_t **input, size_t *input_length, uint8_t **output,
                              size_t *output_length) {
  switch (decoder->codec) {
    case EKN_CODEC_GZIP:
    case EKN_CODEC_DEFLATE: return run_zlib(decoder, input, input_length, output, output_length);
    case EKN_CODEC_BROTLI: {
      int code = brotli.run(decoder->state, input_length, input, output_length, output, NULL);
      if (code == BROTLI_SUCCESS_) return EKN_DECODER_END;
      return code == BROTLI_ERROR_ ? EKN_DECODER_CORRUPT : EKN_DECODER_MORE;
    }
    case EKN_CODEC_ZSTD: {
      ekn_zstd_input in = {*input, *input_length, 0};
      ekn_zstd_output out = {*output, *output_length, 0};
      size_t code = zstd.run(decoder->state, &out, &in);
      *input += in.position;
      *input_length -= in.position;
      *output += out.position;
      *output_length -= out.position;
      if (zstd.is_error(code)) return EKN_DECODER_CORRUPT;
      return code == 0 ? EKN_DECODER_END : EKN_DECODER_MORE;
    }
  }
  return EKN_DECODER_CORRUPT;
}

ekn_decoder_status ekn_decoder_run(ekn_decoder *decoder, const uint8_t **input, size_t *input_length,
                                   uint8_t **output, size_t *output_length) {
  if (decoder->ended) {
    if (*input_length == 0) return EKN_DECODER_END;
    if (!begin_next_member(decoder, **input)) return EKN_DECODER_CORRUPT;
    decoder->ended = false;
  }
  ekn_decoder_status status = run(decoder, input, input_length, output, output_length);
  decoder->ended = status == EKN_DECODER_END;
  return status;
}

#endif
