/* Makes Huffman tables ready: what a look at the next bits means is found once for all bits there can be.
 *
 * Most JPEGs of a data set have the same tables; so a table is only made when it differs from the one before it.
 * References: ITU-T T.81, annex C (codes) and F.2.2 (values).
 */

#include "huffman_tables.h"

#include <string.h>

/* The value that `size` bits stand for: the lower half of them are negative (T.81, F.2.2.1, EXTEND). */
static int value_of(unsigned bits, int size) {
    return size && !(bits >> (size - 1)) ? (int)bits - (1 << size) + 1 : (int)bits;
}

/* Find the codes of all symbols; returns 0 where they do not fit into their bits, or one has nothing but ones. */
static int number_codes(HuffmanTable *table, int codes) {
    const uint8_t *counts = table->written;
    int code = 0, index = 0;
    memset(table->single, 0, sizeof table->single);
    memset(table->symbols, 0, sizeof table->symbols);
    memcpy(table->symbols, table->written + 16, (size_t)codes);
    for (int length = 1; length <= 16; length++, code <<= 1) {
        int count = counts[length - 1];
        table->first_symbol[length] = index - code;
        table->last_code[length] = count ? code + count - 1 : -1;
        if (count && code + count >= 1 << length) return 0;
        for (int i = 0; i < count && length <= LOOK_BITS; i++) {
            int first = (code + i) << (LOOK_BITS - length);
            for (int filled = 0; filled < 1 << (LOOK_BITS - length); filled++)
                table->single[first + filled] = (uint16_t)(length << 8 | table->symbols[index + i]);
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

/* One symbol of an AC table at the beginning of a look, as far as the look holds it. */
typedef struct {
    int bits;  /* of code and value; 0 where the look does not hold all of it */
    int ends;  /* whether it ends the block */
    int steps; /* by how many coefficients it goes on */
    int value;
} Symbol;

/* Return the symbol at the beginning of the first `given` bits of a look. */
static Symbol symbol_in(const HuffmanTable *table, unsigned look, int given) {
    Symbol none = {0, 0, 0, 0};
    int length = table->single[look] >> 8, run = table->single[look] >> 4 & 15, size = table->single[look] & 15;
    if (!length || length + size > given) return none;
    unsigned extra = look >> (LOOK_BITS - length - size) & ((1u << size) - 1);
    Symbol symbol = {length + size, !size && run < 15, run + 1, value_of(extra, size)};
    return symbol;
}

static void look_up_pairs(HuffmanTable *table) {
    for (unsigned look = 0; look < LOOK_SIZE; look++) {
        int used = 0, steps = 0, count = 0, ends = 0, places[2] = {1, 2}, values[2] = {0, 0};
        while (!ends) {
            Symbol symbol = symbol_in(table, look << used & (LOOK_SIZE - 1), LOOK_BITS - used);
            if (!symbol.bits || (count == 2 && !symbol.ends)) break;
            used += symbol.bits;
            ends = symbol.ends;
            if (ends) break;
            steps += symbol.steps;
            places[count] = steps;
            values[count] = symbol.value;
            if (!count++) places[1] = steps + 1;
        }
        uint64_t low = (uint64_t)(used | (steps + (ends ? BLOCK_ENDS : 0)) << 8 | places[0] << 16);
        uint64_t high = (uint64_t)(uint16_t)values[0] | (uint64_t)(uint16_t)values[1] << 16;
        table->looks[look] = used ? low | (uint64_t)places[1] << 24 | high << 32 : 0;
    }
}

int prepare_table(HuffmanTable *table, const WrittenTable *written, int is_ac) {
    int codes = written->size - 16;
    if (table->written_size == written->size && !memcmp(table->written, written->bytes, (size_t)written->size))
        return 1;
    table->written_size = 0;
    table->has_skips = 0;
    memcpy(table->written, written->bytes, (size_t)written->size);
    if (!number_codes(table, codes)) return 0;
    if (is_ac) look_up_pairs(table);
    if (!is_ac && !has_differences_alone(table, codes)) return 0;
    table->written_size = written->size;
    return 1;
}

void prepare_skips(HuffmanTable *table) {
    if (table->has_skips) return;
    for (unsigned look = 0; look < SKIP_SIZE; look++) {
        int used = 0, steps = 0, ends = 0;
        while (!ends && used < SKIP_BITS) {
            /* Values are not looked at, so a symbol counts whose code is seen; its value may go on behind the look. */
            unsigned single = table->single[(look << used & (SKIP_SIZE - 1)) >> (SKIP_BITS - LOOK_BITS)];
            int length = (int)single >> 8, run = (int)single >> 4 & 15, size = (int)single & 15;
            if (!length || length > SKIP_BITS - used || used + length + size > MOST_SKIPPED) break;
            if (steps + run + 1 > 63) break;
            used += length + size;
            ends = !size && run < 15;
            steps += ends ? BLOCK_ENDS : run + 1;
        }
        table->skips[look] = (uint16_t)(used << 8 | steps);
    }
    table->has_skips = 1;
}
