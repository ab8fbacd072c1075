// What embedded Swift wants of a C library.
#include <stddef.h>
#include <stdint.h>

static _Alignas(16) unsigned char heap[1 << 22];
static size_t used;

int posix_memalign(void **result, size_t alignment, size_t size) {
  size_t start = (used + alignment - 1) & ~(alignment - 1);
  if (start + size > sizeof heap) return 12;
  *result = heap + start;
  used = start + size;
  return 0;
}

void free(void *pointer) { (void)pointer; }

void *memcpy(void *to, const void *from, size_t count) {
  unsigned char *target = to;
  const unsigned char *source = from;
  while (count--) *target++ = *source++;
  return to;
}

void *memmove(void *to, const void *from, size_t count) {
  unsigned char *target = to;
  const unsigned char *source = from;
  if (target < source) return memcpy(to, from, count);
  while (count--) target[count] = source[count];
  return to;
}

void *memset(void *to, int byte, size_t count) {
  unsigned char *target = to;
  while (count--) *target++ = (unsigned char)byte;
  return to;
}

int memcmp(const void *left, const void *right, size_t count) {
  const unsigned char *a = left, *b = right;
  for (; count--; a++, b++)
    if (*a != *b) return *a - *b;
  return 0;
}

void arc4random_buf(void *buffer, size_t count) { memset(buffer, 7, count); }

int putchar(int character) { return character; }

uintptr_t __stack_chk_guard = 0x5EED;
void __stack_chk_fail(void) { __builtin_trap(); }
