/* Makes Huffman tables ready: what a look at the next bits means is found once for all bits there can be.
 *
 * Most JPEGs of a data set have the same tables; so a table is only made when it differs from the one before it.
 * References: ITU-T T.81, annex C (codes) and F.2.2 (values).
 */

#include "huffman_tables.h"

#include <string.h>

#define MOST_FIRST 7 /* bits of a value that is in the table */

static uint16_t single_of(int symbol, int length) { return (uint16_t)(symbol << 8 | (length + (symbol & 15))); }

/* Find the codes of all symbols; returns 0 where they do not fit into their bits, or one has nothing but ones. */
static int number_codes(HuffmanTable *table, int codes) {
    const uint8_t *counts = table->written;
    int code = 0, index = 0;
    memset(table->single, 0, sizeof table->single);
    memset(table->symbols, 0, sizeof table->symbols);
    table->end_bits = 0;
    memcpy(table->symbols, table->written + 16, (size_t)codes);
    for (int length = 1; length <= 16; length++, code <<= 1) {
        int count = counts[length - 1];
        table->first_symbol[length] = index - code;
        table->last_code[length] = count ? code + count - 1 : -1;
        if (count && code + count >= 1 << length) return 0;
        for (int i = 0; i < count && length <= LOOK_BITS; i++) {
            int first = (code + i) << (LOOK_BITS - length);
            for (int filled = 0; filled < 1 << (LOOK_BITS - length); filled++)
                table->single[first + filled] = single_of(table->symbols[index + i], length);
            if (!table->symbols[index + i] && !table->end_bits) table->end_bits = length;
        }
        code += count;
        index += count;
    }
    return 1;
}

/* A difference has up to 15 bits. */
static int has_differences_alone(const HuffmanTable *table, int codes) {
    for (int i = 0; i < codes; i++)
        if (table->symbols[i] > 15) return 0;
    return 1;
}

/* One symbol in a look: its bits with those of its value. */
typedef struct {
    int taken, code_bits, size, run, ends;
} Symbol;

/* Return the symbol that begins behind the first `before` bits of a look; `taken` is 0 where its code is not all in it. */
static Symbol symbol_in(const HuffmanTable *table, unsigned look, int before) {
    int single = before < LOOK_BITS ? table->single[look << before & (LOOK_SIZE - 1)] : 0;
    int taken = single & 63, size = single >> 8 & 15, code_bits = taken - size;
    Symbol symbol = {code_bits + before > LOOK_BITS ? 0 : taken, code_bits, size, single >> 12,
                     is_block_end(single >> 8)};
    return symbol;
}

/* Whether a symbol ends a block, by the one code that looks know for it; hostile tables have several. */
static int is_known_end(const HuffmanTable *table, Symbol symbol) {
    return symbol.taken && symbol.ends && symbol.code_bits == table->end_bits;
}

static uint32_t look_of(const HuffmanTable *table, unsigned look) {
    Symbol first = symbol_in(table, look, 0);
    if (is_known_end(table, first)) return (uint32_t)(first.taken | BLOCK_ENDS << STEPS_AT);
    if (!first.taken || first.ends || first.taken > MOST_TAKEN) return SAYS_NOTHING << STEPS_AT;
    int taken = first.taken, size = first.size, steps = first.run + 1, value = 0;
    Symbol next = symbol_in(table, look, taken);
    if (next.taken && !next.ends && taken + next.taken <= MOST_TAKEN && size <= MOST_FIRST) {
        int bits = (int)(look >> (LOOK_BITS - taken)) & ((1 << size) - 1);
        value = size && !(bits >> (size - 1)) ? bits - (1 << size) + 1 : bits;
        taken += next.taken;
        size = next.size;
        steps += next.run + 1;
        next = symbol_in(table, look, taken);
    }
    if (is_known_end(table, next)) {
        taken += next.taken;
        steps += BLOCK_ENDS;
    }
    return (uint32_t)(taken | steps << STEPS_AT | first.run << RUN_AT | size << SIZE_AT) | (uint32_t)value << VALUE_AT;
}

int prepare_table(HuffmanTable *table, const WrittenTable *written, int is_ac) {
    int codes = written->size - 16;
    if (table->written_size == written->size && !memcmp(table->written, written->bytes, (size_t)written->size))
        return 1;
    table->written_size = 0;
    table->has_skips = 0;
    memcpy(table->written, written->bytes, (size_t)written->size);
    if (!number_codes(table, codes)) return 0;
    if (is_ac)
        for (unsigned look = 0; look < LOOK_SIZE; look++) table->looks[look] = look_of(table, look);
    if (!is_ac && !has_differences_alone(table, codes)) return 0;
    table->written_size = written->size;
    return 1;
}

/* Fill in what `bits` bits stand for: all looks of so many bits, each with the AC symbols whose codes are in it. `shorter`
 * has the same for all fewer bits, that of so many at 1 << bits: what follows a symbol is added to it. */
static void look_up_skips(const HuffmanTable *table, int bits, const uint16_t *shorter, uint16_t *skips) {
    memset(skips, 0, sizeof *skips << bits);
    for (int length = 1; length <= bits && length <= 16; length++) {
        int count = table->written[length - 1], first = table->last_code[length] - count + 1;
        for (int code = first; code < first + count; code++) {
            int symbol = table->symbols[code + table->first_symbol[length]], taken = length + (symbol & 15);
            int ends = is_block_end(symbol), left = ends || taken > bits ? 0 : bits - taken;
            unsigned skip = (unsigned)(taken | (ends ? SKIP_ENDS : (symbol >> 4) + 1) << STEPS_AT);
            uint16_t *from = skips + (code << (bits - length)), *end = from + (1 << (bits - length));
            if (taken > bits + MOST_TAKEN - SKIP_BITS) continue;
            for (; from < end; from += 1 << left)
                for (int i = 0; i < 1 << left; i++) from[i] = (uint16_t)(skip + shorter[(1 << left) + i]);
        }
    }
}

void prepare_skips(HuffmanTable *table) {
    uint16_t shorter[SKIP_SIZE];
    if (table->has_skips) return;
    shorter[1] = 0; /* no bits: nothing */
    for (int bits = 1; bits < SKIP_BITS; bits++) look_up_skips(table, bits, shorter, shorter + (1 << bits));
    look_up_skips(table, SKIP_BITS, shorter, table->skips);
    for (int look = 0; look < SKIP_SIZE; look++)
        if (!table->skips[look]) table->skips[look] = SKIPS_NOTHING << STEPS_AT;
    table->has_skips = 1;
}
