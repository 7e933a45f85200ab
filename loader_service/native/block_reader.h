/* Reads the coefficients of one block from the scan, or passes over them. In a header so that the reader's bits stay in
 * registers from block to block.
 *
 * A look at the next bits says one or two coefficients at a time. It may have seen more than the block has: where it
 * leads to the last coefficient or beyond, it is taken back, and the block's end is read one symbol at a time.
 */

#ifndef LOADER_NATIVE_BLOCK_READER_H
#define LOADER_NATIVE_BLOCK_READER_H

#include <stdint.h>

#include "bit_reader.h"
#include "block_transform.h"
#include "exports.h"
#include "huffman_tables.h"

#define LAST 63     /* the last coefficient of a block */
#define DAMAGED (-1)
#define LOOKS 5     /* so many looks of LOOK_BITS are in a buffer that was filled */
#define SKIPS 3     /* the same of looks that pass over MOST_SKIPPED bits */

#define INLINE static NATIVE_AVX2 inline __attribute__((always_inline))

/* Read one symbol; returns DAMAGED where there is none. Needs 16 bits in the buffer. */
INLINE int read_symbol(BitReader *reader, const HuffmanTable *table) {
    int single = table->single[next_bits(reader, LOOK_BITS)];
    if (single) {
        drop_bits(reader, single >> 8);
        return single & 255;
    }
    for (int length = LOOK_BITS + 1; length <= 16; length++) {
        int code = (int)next_bits(reader, length);
        if (code <= table->last_code[length]) {
            drop_bits(reader, length);
            return table->symbols[(code + table->first_symbol[length]) & 255];
        }
    }
    return DAMAGED;
}

/* Read the bits of a value, of which there may be none: the lower half of them are negative (T.81, F.2.2.1, EXTEND).
 * Without a branch, since signs are as random as can be. Needs 15 bits in the buffer. */
INLINE int read_value(BitReader *reader, int size) {
    uint64_t bits = reader->bits;
    int value = (int)(bits >> 1 >> (63 - size)), is_negative = !(bits >> 63);
    drop_bits(reader, size);
    return value - (-is_negative & ((1 << size) - 1));
}

/* Read by how much the first coefficient differs from that of the block before; returns 0 where the scan is damaged.
 * Leaves the buffer filled. */
INLINE int read_difference(BitReader *reader, const HuffmanTable *table, int *difference) {
    fill(reader);
    int size = read_symbol(reader, table);
    if (size < 0) return 0;
    *difference = read_value(reader, size);
    fill(reader);
    return 1;
}

/* Read one symbol behind coefficient `last`. Returns the coefficient that it leads to, LAST + 1 at the block's end, or
 * DAMAGED; `*value` is what that coefficient is. */
INLINE int read_one(BitReader *reader, const HuffmanTable *table, int last, int *value) {
    fill(reader);
    int symbol = read_symbol(reader, table);
    if (symbol < 0) return DAMAGED;
    int run = symbol >> 4, size = symbol & 15;
    if (!size && run < 15) return LAST + 1;
    *value = read_value(reader, size);
    last += run + 1;
    return last <= LAST ? last : DAMAGED;
}

/* Read a block's coefficients but the first; returns the last one that is there, 0 to 63, or DAMAGED. */
INLINE int read_coefficients(BitReader *reader, const HuffmanTable *table, int16_t *block) {
    int last = 0;
    for (;; fill(reader)) {
        for (int looks = 0; looks < LOOKS; looks++) {
            BitReader before = *reader;
            uint64_t look = table->looks[next_bits(reader, LOOK_BITS)];
            if (!look) break;
            drop_bits(reader, look & 63);
            block[pair_places[last + (look >> 16 & 255)]] = (int16_t)(look >> 32);
            block[pair_places[last + (look >> 24 & 255)]] = (int16_t)(look >> 48);
            int next = last + (int)(look >> 8 & 255);
            if (next >= LAST) {
                if (next == LAST) return LAST;
                if (next >= BLOCK_ENDS && next < BLOCK_ENDS + LAST) return next - BLOCK_ENDS;
                *reader = before;
                break;
            }
            last = next;
            if (looks == LOOKS - 1) goto more;
        }
        int value = 0, next = read_one(reader, table, last, &value);
        if (next == LAST + 1) return last;
        if (next == DAMAGED) return DAMAGED;
        block[pair_places[next]] = (int16_t)value;
        if (next == LAST) return LAST;
        last = next;
    more:;
    }
}

/* Pass over a block's coefficients but the first; returns 0 where the scan is damaged. */
INLINE int skip_coefficients(BitReader *reader, const HuffmanTable *table) {
    int last = 0;
    for (;; fill(reader)) {
        for (int looks = 0; looks < SKIPS; looks++) {
            BitReader before = *reader;
            int look = table->skips[next_bits(reader, SKIP_BITS)];
            if (!look) break;
            drop_bits(reader, look >> 8);
            int next = last + (look & 255);
            if (next >= LAST) {
                if (next == LAST || (next >= BLOCK_ENDS && next < BLOCK_ENDS + LAST)) return 1;
                *reader = before;
                break;
            }
            last = next;
            if (looks == SKIPS - 1) goto more;
        }
        int value, next = read_one(reader, table, last, &value);
        if (next == DAMAGED) return 0;
        if (next >= LAST) return 1;
        last = next;
    more:;
    }
}

#endif
