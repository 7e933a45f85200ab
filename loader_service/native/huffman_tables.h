/* Huffman tables made ready for reading many bits at a time. */

#ifndef LOADER_NATIVE_HUFFMAN_TABLES_H
#define LOADER_NATIVE_HUFFMAN_TABLES_H

#include <stdint.h>

#include "jpeg_header.h"

/* With so many bits a table is asked; what needs more is read code by code. */
#define LOOK_BITS 10
#define LOOK_SIZE (1 << LOOK_BITS)
#define SKIP_BITS 12
#define SKIP_SIZE (1 << SKIP_BITS)
#define MOST_SKIPPED 15 /* bits that one look passes over */

/* A step that ends a block: more than any number of coefficients. */
#define BLOCK_ENDS 128

/* What `next` bits of the scan stand for. All entries are 0 where the look does not hold a whole symbol. */
typedef struct {
    uint8_t written[16 + 256]; /* the table that this was made of */
    int written_size;          /* 0 before any */
    int has_skips;             /* whether `skips` is filled in */
    int32_t last_code[17];     /* the last code of so many bits; -1 without any */
    int32_t first_symbol[17];  /* what to add to a code of so many bits to find its symbol */
    uint8_t symbols[256];
    uint16_t single[LOOK_SIZE]; /* one code: its bits << 8 | its symbol */
    /* One or two AC coefficients, and the end of the block where it follows: from the lowest byte on the bits of all, by
     * how many coefficients they go on (with BLOCK_ENDS), the places of the first and second value, seen from the last
     * coefficient; then 16 bits for each value. A second value that is not there is 0, one place on. */
    uint64_t looks[LOOK_SIZE];
    uint16_t skips[SKIP_SIZE]; /* any number of AC coefficients: the bits of all << 8 | by how many they go on */
} HuffmanTable;

/* Make a table ready, unless it is. Returns 0 where the codes are none, or a DC symbol is none. */
int prepare_table(HuffmanTable *table, const WrittenTable *written, int is_ac);

/* Make `skips` ready, unless they are. */
void prepare_skips(HuffmanTable *table);

#endif
