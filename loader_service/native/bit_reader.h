/* Reads the bits of a JPEG's scan, from a buffer of 64 bits that is filled again now and then.
 *
 * In a scan each byte 0xFF is followed by a 0, which is left out; by anything else where a marker ends the data. At a
 * marker, and at the end of the bytes, the reader goes on with zeros that it makes up, and counts them: who reads need
 * not look at each bit whether there are any left, and asks `has_overrun` now and then.
 */

#ifndef LOADER_NATIVE_BIT_READER_H
#define LOADER_NATIVE_BIT_READER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "exports.h"

typedef struct {
    uint64_t bits;      /* the next bit is the highest; below the counted ones may stand the beginning of the next byte */
    int count;          /* how many of them were read, from 0 to 63 */
    int made_up;        /* how many of all that were counted were made up: they are the last ones */
    const uint8_t *at;  /* the next byte */
    const uint8_t *end;
} BitReader;

static inline BitReader read_bits_from(const uint8_t *at, const uint8_t *end) {
    BitReader reader = {0, 0, 0, at, end};
    return reader;
}

/* Whether bits were used that are not in the data. */
static inline int has_overrun(const BitReader *reader) { return reader->count < reader->made_up; }

/* How many bits that are in the data were not used; less than 8 of them fill the last byte. */
static inline int bits_left(const BitReader *reader) { return reader->count - reader->made_up; }

/* Fills the buffer byte by byte: at 0xFF, and near the end. */
static __attribute__((noinline)) void fill_slowly(BitReader *reader) {
    while (reader->count < 56) {
        const uint8_t *at = reader->at;
        ptrdiff_t left = reader->end - at;
        if (left < 1 || (at[0] == 0xFF && (left < 2 || at[1] != 0))) {
            reader->made_up += 63 - reader->count;
            reader->count = 63;
            return;
        }
        reader->bits |= (uint64_t)at[0] << (56 - reader->count);
        reader->count += 8;
        reader->at = at + (at[0] == 0xFF ? 2 : 1);
    }
}

/* Has at least 56 bits in the buffer. */
static inline void fill(BitReader *reader) {
    if (reader->end - reader->at >= 8) {
        uint64_t next;
        memcpy(&next, reader->at, 8);
        next = __builtin_bswap64(next);
        /* A byte of `next` is 0xFF where one of its complement is 0 (the usual test for a zero byte in a word). */
        if (!((~next - 0x0101010101010101u) & next & 0x8080808080808080u)) {
            reader->bits |= next >> reader->count;
            reader->at += (63 - reader->count) >> 3;
            reader->count |= 56; /* as many whole bytes as fit */
            return;
        }
    }
    BitReader copy = *reader; /* so that the compiler can keep the reader itself in registers */
    fill_slowly(&copy);
    *reader = copy;
}

static inline unsigned next_bits(const BitReader *reader, int count) { return (unsigned)(reader->bits >> (64 - count)); }

static inline void drop_bits(BitReader *reader, int count) {
    reader->bits <<= count;
    reader->count -= count;
}

#endif
