/* Reads the bits of a scan that `scan_bytes.h` has made plain bytes, from a buffer of 64 bits.
 *
 * Nothing is checked bit by bit: behind the scan's end there are zeros enough for an MCU, and who reads asks before each
 * MCU, and at the end, whether it has gone too far.
 */

#ifndef LOADER_NATIVE_BIT_READER_H
#define LOADER_NATIVE_BIT_READER_H

#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t bits;     /* the next bit is the highest; below the counted ones may stand the beginning of the next byte */
    int count;         /* how many of them were read, from 0 to 63 */
    const uint8_t *at; /* the next byte */
} BitReader;

/* Has at least 56 bits in the buffer. */
static inline void fill(BitReader *reader) {
    uint64_t next;
    memcpy(&next, reader->at, 8);
    reader->bits |= __builtin_bswap64(next) >> reader->count;
    reader->at += (63 - reader->count) >> 3;
    reader->count |= 56; /* as many whole bytes as fit */
}

static inline unsigned next_bits(const BitReader *reader, int count) { return (unsigned)(reader->bits >> (64 - count)); }

static inline void drop_bits(BitReader *reader, int count) {
    reader->bits <<= count;
    reader->count -= count;
}

#endif
