/* Copies memory that nobody reads soon: past the processor's cache, so that nothing is read of what is overwritten. */

#include "copy.h"

#include <stdint.h>
#include <string.h>

#include "exports.h"

#if NATIVE_X86
#include <emmintrin.h>

/* Of the cache, in bytes. */
#define LINE 64

static void copy_line(char *out, const char *from) {
    __m128i parts[LINE / 16];
    int number;
    for (number = 0; number < LINE / 16; number++) parts[number] = _mm_loadu_si128((const __m128i *)from + number);
    for (number = 0; number < LINE / 16; number++) _mm_stream_si128((__m128i *)out + number, parts[number]);
}

void copy_past_cache(char *out, const char *from, size_t length, const char *next) {
    size_t begin = (size_t)(-(uintptr_t)out & (LINE - 1)), done;
    if (begin > length) begin = length;
    memcpy(out, from, begin);
    for (done = begin; done + LINE <= length; done += LINE) {
        if (next) __builtin_prefetch(next + done);
        copy_line(out + done, from + done);
    }
    memcpy(out + done, from + done, length - done);
}

void end_copies(void) { _mm_sfence(); }
#else
void copy_past_cache(char *out, const char *from, size_t length, const char *next) {
    (void)next;
    memcpy(out, from, length);
}

void end_copies(void) {}
#endif

/* Copies bytes from one place to another; they must not overlap. */
NATIVE_EXPORT void native_copy(char *out, const char *from, size_t length) {
    copy_past_cache(out, from, length, NULL);
    end_copies();
}
