/* Copies a scan's data, piece by piece, as plain bytes: without the zeros that follow each byte 0xFF. */

#ifndef LOADER_NATIVE_SCAN_BYTES_H
#define LOADER_NATIVE_SCAN_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "bit_reader.h"

/* What one MCU can take: 6 blocks of 64 coefficients of 31 bits, and the 8 bytes that a reader has in its buffer. */
#define MOST_OF_MCU 1536
#define PIECE_SIZE 8192
#define SCAN_ROOM (PIECE_SIZE + 2048)

typedef struct {
    uint8_t *room;                  /* SCAN_ROOM bytes */
    const uint8_t *next, *data_end; /* what is not copied yet; where `is_whole`, a marker or the end of the data */
    const uint8_t *end;             /* behind what was copied */
    const uint8_t *limit;           /* a reader that has come here asks for more before it reads an MCU */
    int is_whole;                   /* whether all was copied up to a marker; zeros follow then */
} ScanBytes;

/* Begin to copy what lies from `at` on; returns its reader. */
BitReader read_scan_from(ScanBytes *scan, const uint8_t *at);

/* Copy the next piece, for a reader at `limit` or beyond; returns 0 where there is none, and the reader went too far. */
int copy_more(ScanBytes *scan, BitReader *reader);

/* Whether less than a byte is left in front of the marker with a code; may copy more. */
int stands_before(ScanBytes *scan, BitReader *reader, int marker);

/* How many bits were not used of what was copied; less than 0 where bits were used that are not in the data. */
static inline ptrdiff_t bits_left(const ScanBytes *scan, const BitReader *reader) {
    return (scan->end - reader->at) * 8 + reader->count;
}

#endif
