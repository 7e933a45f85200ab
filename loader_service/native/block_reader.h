/* Reads the coefficients of one block from the scan, or passes over them. In a header so that the reader's bits stay in
 * registers from block to block.
 *
 * A look at the next bits says one or two coefficients at a time, or passes over any number of them; the tables say how.
 * A look may see more than the block has, and a code may be longer than a look: all of these lead to LAST or beyond, so
 * that there is one test a look. Then nothing of it counts, and one symbol is read.
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
#define LOOKS 3     /* so many looks of MOST_TAKEN bits are in a buffer that was filled */

#define INLINE static NATIVE_AVX2 inline __attribute__((always_inline))

/* Return the value whose `size` bits end `end` (1 to 63) bits into the buffer: the lower half of them are negative
 * (T.81, F.2.2.1, EXTEND). Without a branch, since signs are as random as can be. */
INLINE int value_before(const BitReader *reader, int end, int size) {
    int mask = (1 << size) - 1, bits = (int)(reader->bits >> (64 - end)) & mask;
    return bits <= mask >> 1 ? bits - mask : bits;
}

/* Read a symbol whose code is longer than a look; returns DAMAGED where there is none. */
static NATIVE_AVX2 __attribute__((noinline)) int find_symbol(uint64_t bits, const HuffmanTable *table, int *length) {
    for (*length = LOOK_BITS + 1; *length <= 16; ++*length) {
        int code = (int)(bits >> (64 - *length));
        if (code <= table->last_code[*length]) return table->symbols[(code + table->first_symbol[*length]) & 255];
    }
    return DAMAGED;
}

/* Read one symbol and its value, of which there may be no bits; returns DAMAGED where there is none. Needs 31 bits in
 * the buffer. */
INLINE int read_symbol(BitReader *reader, const HuffmanTable *table, int *value) {
    int single = table->single[next_bits(reader, LOOK_BITS)], taken = single & 63, symbol = single >> 8;
    if (__builtin_expect(!single, 0)) {
        symbol = find_symbol(reader->bits, table, &taken);
        if (symbol < 0) return DAMAGED;
        taken += symbol & 15;
    }
    *value = value_before(reader, taken, symbol & 15);
    drop_bits(reader, taken);
    return symbol;
}

/* Read one symbol behind coefficient `last`. Returns the coefficient that it leads to, LAST + 1 at the block's end, or
 * DAMAGED; `*value` is what that coefficient is. */
INLINE int read_one(BitReader *reader, const HuffmanTable *table, int last, int *value) {
    fill(reader);
    int symbol = read_symbol(reader, table, value);
    if (symbol < 0) return DAMAGED;
    if (is_block_end(symbol)) return LAST + 1;
    last += (symbol >> 4) + 1;
    return last <= LAST ? last : DAMAGED;
}

/* Set the one or two coefficients of a look, from one sum to the next; the last value ends `end` bits into the buffer. */
INLINE void set_coefficients(const BitReader *reader, uint32_t look, int sum, int next, int end, int16_t *block) {
    block[pair_places[(sum >> STEPS_AT) + (look >> RUN_AT & 15) + 1]] = (int16_t)((int32_t)look >> VALUE_AT);
    block[pair_places[next >> STEPS_AT]] = (int16_t)value_before(reader, end, look >> SIZE_AT & 15);
}

/* Both of the following add looks up: a sum is the last coefficient << STEPS_AT, and the bits taken since a `fill`. */
#define SUM(last) ((last) << STEPS_AT)

/* Read a block's coefficients but the first; returns the last one that is there, 0 to 63, or DAMAGED. Needs MOST_TAKEN
 * bits in the buffer. */
INLINE int read_coefficients(BitReader *reader, const HuffmanTable *table, int16_t *block) {
    for (int sum = 0, looks = LOOKS - 1;; looks = 0) {
        for (; looks < LOOKS; looks++) {
            uint32_t look = table->looks[next_bits(reader, LOOK_BITS)];
            int next = sum + (int)(look & LOOK_SUM);
            if (next >= SUM(LAST)) {
                int ends = next >= SUM(BLOCK_ENDS), taken = look & TAKEN;
                next -= ends * SUM(BLOCK_ENDS);
                if (next >= SUM(LAST + !ends)) goto one;
                if (next >> STEPS_AT != sum >> STEPS_AT)
                    set_coefficients(reader, look, sum, next, ends ? taken - table->end_bits : taken, block);
                reader->bits <<= taken;
                reader->count -= next & TAKEN;
                return next >> STEPS_AT;
            }
            set_coefficients(reader, look, sum, next, look & TAKEN, block);
            reader->bits <<= look & TAKEN;
            sum = next;
        }
        reader->count -= sum & TAKEN;
        sum &= ~TAKEN;
        fill(reader);
        continue;
    one:
        reader->count -= sum & TAKEN;
        int value = 0, next = read_one(reader, table, sum >> STEPS_AT, &value);
        if (next == LAST + 1) return sum >> STEPS_AT;
        if (next == DAMAGED) return DAMAGED;
        block[pair_places[next]] = (int16_t)value;
        if (next == LAST) return LAST;
        sum = SUM(next);
        fill(reader);
    }
}

/* Pass over a block's coefficients but the first; returns 0 where the scan is damaged. Needs MOST_TAKEN bits in the
 * buffer. */
INLINE int skip_coefficients(BitReader *reader, const HuffmanTable *table) {
    for (int sum = 0, looks = LOOKS - 1;; looks = 0) {
        for (; looks < LOOKS; looks++) {
            int skip = table->skips[next_bits(reader, SKIP_BITS)], next = sum + skip;
            if (next >= SUM(LAST)) {
                if (next >= SUM(LAST + 1) && (unsigned)next - SUM(SKIP_ENDS) >= SUM(LAST)) goto one;
                reader->bits <<= skip & TAKEN;
                reader->count -= next & TAKEN;
                return 1;
            }
            reader->bits <<= skip & TAKEN;
            sum = next;
        }
        reader->count -= sum & TAKEN;
        sum &= ~TAKEN;
        fill(reader);
        continue;
    one:
        reader->count -= sum & TAKEN;
        int value, next = read_one(reader, table, sum >> STEPS_AT, &value);
        if (next == DAMAGED) return 0;
        if (next >= LAST) return 1;
        sum = SUM(next);
        fill(reader);
    }
}

#endif
