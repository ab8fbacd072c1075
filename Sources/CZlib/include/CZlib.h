// The system's zlib, opened at run time: a stock machine has neither its headers nor a libz.so to link against. It
// inflates bodies (RFC 9110 §8.4.1), and compresses and inflates for permessage-deflate (RFC 7692).
#ifndef EKN_CZLIB_H
#define EKN_CZLIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  EKN_ZLIB_OK,       // the input is used up, or the output is full
  EKN_ZLIB_END,      // the stream is complete; the remaining input follows it
  EKN_ZLIB_CORRUPT,
} ekn_zlib_status;

typedef struct ekn_zstream ekn_deflater;
typedef struct ekn_zstream ekn_inflater;

bool ekn_zlib_available(void);

// `window_bits` is 9 to 15. NULL if zlib is not available or memory is exhausted.
ekn_deflater *ekn_deflater_create(int window_bits);
void ekn_deflater_free(ekn_deflater *deflater);
// Discards the compression history.
void ekn_deflater_reset(ekn_deflater *deflater);
// Compresses with a sync flush: call until the input is used up and the output was not filled.
ekn_zlib_status ekn_deflater_run(ekn_deflater *deflater, const uint8_t **input, size_t *input_length,
                                 uint8_t **output, size_t *output_length);

// zlib's windowBits. The largest window decodes what was encoded with any smaller one.
typedef enum { EKN_FORMAT_RAW = -15, EKN_FORMAT_ZLIB = 15, EKN_FORMAT_GZIP = 15 + 16 } ekn_zlib_format;

// NULL if zlib is not available or memory is exhausted.
ekn_inflater *ekn_inflater_create(ekn_zlib_format format);
void ekn_inflater_free(ekn_inflater *inflater);
// Discards all state to begin another stream. False if the state was invalid.
bool ekn_inflater_reset(ekn_inflater *inflater);
// Begins another stream that may refer to the data of the last one.
bool ekn_inflater_continue(ekn_inflater *inflater);
ekn_zlib_status ekn_inflater_run(ekn_inflater *inflater, const uint8_t **input, size_t *input_length,
                                 uint8_t **output, size_t *output_length);

#endif
