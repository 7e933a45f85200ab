/* Makes samples of the coefficients of two blocks at a time, as libjpeg-turbo's fast integer transform does. */

#ifndef LOADER_NATIVE_BLOCK_TRANSFORM_H
#define LOADER_NATIVE_BLOCK_TRANSFORM_H

#include <stddef.h>
#include <stdint.h>

#define BLOCK_SIDE 8
#define BLOCK_SIZE 64

/* Two blocks row by row: each row of the first, then the same of the second. */
#define PAIR_SIZE 128

/* Where coefficient `i` of the scan's order lies in a pair, from the place of its block on. */
extern const uint8_t pair_places[BLOCK_SIZE];

/* Fill in the factors of the block at `half` (0 or 1) of a pair, from its steps in zigzag order. */
void scale_steps(const uint8_t *steps, int half, int16_t factors[PAIR_SIZE]);

/* Write 8 rows of 16 samples: of the first block, and of the second beside it. Sets all coefficients to 0. */
void transform_pair(int16_t *coefficients, const int16_t *factors, uint8_t *samples, ptrdiff_t stride);

/* The same where no coefficients but the first ones of each block are set. */
void transform_flat_pair(int16_t *coefficients, const int16_t *factors, uint8_t *samples, ptrdiff_t stride);

/* Fill in the factors of the block at `half` for `transform_half_pair`. */
void order_steps(const uint8_t *steps, int half, int16_t factors[PAIR_SIZE]);

/* Write 4 rows of 8 samples, of each block half its rows and columns. Sets all coefficients to 0. */
void transform_half_pair(int16_t *coefficients, const int16_t *factors, uint8_t *samples, ptrdiff_t stride);

#endif
