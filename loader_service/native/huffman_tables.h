/* Huffman tables made ready for reading many bits at a time. */

#ifndef LOADER_NATIVE_HUFFMAN_TABLES_H
#define LOADER_NATIVE_HUFFMAN_TABLES_H

#include <stdint.h>

#include "jpeg_header.h"

/* With so many bits a table is asked; a code that is longer is read by itself. A look takes all bits of the values that
 * belong to its codes, also where they go on behind it. */
#define LOOK_BITS 11
#define LOOK_SIZE (1 << LOOK_BITS)
#define SKIP_BITS 12
#define SKIP_SIZE (1 << SKIP_BITS)
#define MOST_TAKEN 18

/* Steps of a look that ends its block, or says nothing: more than any number of coefficients. */
#define BLOCK_ENDS 128
#define SAYS_NOTHING 255
#define SKIP_ENDS 512
#define SKIPS_NOTHING 1023

/* What the next bits of the scan stand for. The lowest 6 bits of an entry are how many bits it takes, of codes and
 * values together; above are the steps, by how many coefficients it goes on. So entries can be added up as they are.
 *
 * single  One code and its value; from bit 8 on, its symbol. 0 where the code is longer than a look.
 * looks   One or two AC coefficients, and the end of the block where its code is within the look; 8 bits of steps, with
 *         BLOCK_ENDS. Then 4 bits for the run before the first coefficient, and 4 for the size of the last value, whose
 *         bits are the last ones taken, but those of the block's end; then the value of the first of two. Where there
 *         is one, both are in the same place: who sets them in order sets the one.
 * skips   Any number of AC coefficients; 10 bits of steps, with SKIP_ENDS. */
typedef struct {
    uint8_t written[16 + 256]; /* the table that this was made of */
    int written_size;          /* 0 before any */
    int has_skips;             /* whether `skips` is filled in */
    int end_bits;              /* how many bits the code of a block's end has; 0 without one */
    int32_t last_code[17];     /* the last code of so many bits; -1 without any */
    int32_t first_symbol[17];  /* what to add to a code of so many bits to find its symbol */
    uint8_t symbols[256];
    uint16_t single[LOOK_SIZE];
    uint32_t looks[LOOK_SIZE];
    uint16_t skips[SKIP_SIZE];
} HuffmanTable;

#define STEPS_AT 6
#define TAKEN 63
#define LOOK_SUM 0x3FFF /* bits taken and steps of a look */
#define RUN_AT 14
#define SIZE_AT 18
#define VALUE_AT 24

/* Whether an AC symbol ends its block: it has no value, and is not a run of 16 (T.81, F.1.2.2). */
static inline int is_block_end(int symbol) { return !(symbol & 15) && symbol >> 4 < 15; }

/* Make a table ready, unless it is. Returns 0 where the codes are none, or a DC symbol is none. */
int prepare_table(HuffmanTable *table, const WrittenTable *written, int is_ac);

/* Make `skips` ready, unless they are. */
void prepare_skips(HuffmanTable *table);

#endif
