/* The inverse DCT of Arai, Agui and Nakajima in 16-bit arithmetic, two blocks at a time, to the bit as libjpeg-turbo
 * computes it with SIMD for JDCT_IFAST: sums wrap around at 16 bits, products keep their high halves.
 *
 * References: Arai, Agui, Nakajima, "A fast DCT-SQ scheme for images", Trans. IEICE E-71 (1988); the factors 1 and
 * cos(k pi / 16) sqrt(2); libjpeg-turbo's jidctfst for how many bits a constant has.
 */

#include "block_transform.h"

#include "exports.h"

#define PLACE(row, column) ((row) * 16 + (column))

/* T.81, figure 5. */
const uint8_t pair_places[BLOCK_SIZE] = {
    PLACE(0, 0), PLACE(0, 1), PLACE(1, 0), PLACE(2, 0), PLACE(1, 1), PLACE(0, 2), PLACE(0, 3), PLACE(1, 2),
    PLACE(2, 1), PLACE(3, 0), PLACE(4, 0), PLACE(3, 1), PLACE(2, 2), PLACE(1, 3), PLACE(0, 4), PLACE(0, 5),
    PLACE(1, 4), PLACE(2, 3), PLACE(3, 2), PLACE(4, 1), PLACE(5, 0), PLACE(6, 0), PLACE(5, 1), PLACE(4, 2),
    PLACE(3, 3), PLACE(2, 4), PLACE(1, 5), PLACE(0, 6), PLACE(0, 7), PLACE(1, 6), PLACE(2, 5), PLACE(3, 4),
    PLACE(4, 3), PLACE(5, 2), PLACE(6, 1), PLACE(7, 0), PLACE(7, 1), PLACE(6, 2), PLACE(5, 3), PLACE(4, 4),
    PLACE(3, 5), PLACE(2, 6), PLACE(1, 7), PLACE(2, 7), PLACE(3, 6), PLACE(4, 5), PLACE(5, 4), PLACE(6, 3),
    PLACE(7, 2), PLACE(7, 3), PLACE(6, 4), PLACE(5, 5), PLACE(4, 6), PLACE(3, 7), PLACE(4, 7), PLACE(5, 6),
    PLACE(6, 5), PLACE(7, 4), PLACE(7, 5), PLACE(6, 6), PLACE(5, 7), PLACE(6, 7), PLACE(7, 6), PLACE(7, 7),
};

/* cos(k pi / 16) sqrt(2), and 1 for k = 0, as numbers of 14 bits behind the point, multiplied with each other. */
static const int16_t SCALES[BLOCK_SIZE] = {
    16384, 22725, 21407, 19266, 16384, 12873, 8867,  4520, 22725, 31521, 29692, 26722, 22725, 17855, 12299, 6270,
    21407, 29692, 27969, 25172, 21407, 16819, 11585, 5906, 19266, 26722, 25172, 22654, 19266, 15137, 10426, 5315,
    16384, 22725, 21407, 19266, 16384, 12873, 8867,  4520, 12873, 17855, 16819, 15137, 12873, 10114, 6967,  3552,
    8867,  12299, 11585, 10426, 8867,  6967,  4799,  2446, 4520,  6270,  5906,  5315,  4520,  3552,  2446,  1247,
};

/* A factor has 2 bits behind the point: 12 of the scale's 14 are rounded away. */
void scale_steps(const uint8_t *steps, int half, int16_t factors[PAIR_SIZE]) {
    for (int i = 0; i < BLOCK_SIZE; i++) {
        int row = pair_places[i] / 16, column = pair_places[i] % 16;
        factors[PLACE(row, half * BLOCK_SIDE + column)] =
            (int16_t)((steps[i] * SCALES[row * BLOCK_SIDE + column] + (1 << 11)) >> 12);
    }
}

#if NATIVE_X86
#include <immintrin.h>

/* Constants have 8 bits behind the point; 6 more here, and 2 in what they are multiplied with, so that the high half of
 * the product is the product without its 8. */
#define TIMES(value, constant) _mm256_mulhi_epi16(_mm256_slli_epi16(value, 2), _mm256_set1_epi16((constant) * 64))
#define F_1_082 277
#define F_1_414 362
#define F_1_613 413
#define F_1_847 473

/* One dimension of the transform, of 16 columns side by side. */
static NATIVE_AVX2 inline __attribute__((always_inline)) void transform_columns(__m256i v[8]) {
    __m256i sum_04 = _mm256_add_epi16(v[0], v[4]), difference_04 = _mm256_sub_epi16(v[0], v[4]);
    __m256i sum_26 = _mm256_add_epi16(v[2], v[6]);
    __m256i turned_26 = _mm256_sub_epi16(TIMES(_mm256_sub_epi16(v[2], v[6]), F_1_414), sum_26);
    __m256i even_0 = _mm256_add_epi16(sum_04, sum_26), even_3 = _mm256_sub_epi16(sum_04, sum_26);
    __m256i even_1 = _mm256_add_epi16(difference_04, turned_26), even_2 = _mm256_sub_epi16(difference_04, turned_26);

    __m256i sum_53 = _mm256_add_epi16(v[5], v[3]), difference_53 = _mm256_sub_epi16(v[5], v[3]);
    __m256i sum_17 = _mm256_add_epi16(v[1], v[7]), difference_17 = _mm256_sub_epi16(v[1], v[7]);
    __m256i odd_7 = _mm256_add_epi16(sum_17, sum_53);
    __m256i z11 = TIMES(_mm256_sub_epi16(sum_17, sum_53), F_1_414);
    __m256i z5 = TIMES(_mm256_add_epi16(difference_53, difference_17), F_1_847);
    __m256i z10 = _mm256_sub_epi16(TIMES(difference_17, F_1_082), z5);
    /* -2.613 is more than 16 bits hold here: -1.613 - 1. */
    __m256i z12 = _mm256_add_epi16(_mm256_sub_epi16(TIMES(difference_53, -F_1_613), difference_53), z5);
    __m256i odd_6 = _mm256_sub_epi16(z12, odd_7);
    __m256i odd_5 = _mm256_sub_epi16(z11, odd_6);
    __m256i odd_4 = _mm256_add_epi16(z10, odd_5);

    v[0] = _mm256_add_epi16(even_0, odd_7), v[7] = _mm256_sub_epi16(even_0, odd_7);
    v[1] = _mm256_add_epi16(even_1, odd_6), v[6] = _mm256_sub_epi16(even_1, odd_6);
    v[2] = _mm256_add_epi16(even_2, odd_5), v[5] = _mm256_sub_epi16(even_2, odd_5);
    v[4] = _mm256_add_epi16(even_3, odd_4), v[3] = _mm256_sub_epi16(even_3, odd_4);
}

/* Exchange rows and columns of both blocks. */
static NATIVE_AVX2 inline __attribute__((always_inline)) void transpose(__m256i v[8]) {
    __m256i pairs[8], fours[8];
    for (int i = 0; i < 4; i++) {
        pairs[i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);     /* rows 2i and 2i + 1, columns 0 to 3 */
        pairs[4 + i] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]); /* columns 4 to 7 */
    }
    for (int i = 0; i < 4; i++) {
        fours[2 * i] = _mm256_unpacklo_epi32(pairs[2 * i], pairs[2 * i + 1]);
        fours[2 * i + 1] = _mm256_unpackhi_epi32(pairs[2 * i], pairs[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 2; j++) {
            v[4 * i + 2 * j] = _mm256_unpacklo_epi64(fours[4 * i + j], fours[4 * i + 2 + j]);
            v[4 * i + 2 * j + 1] = _mm256_unpackhi_epi64(fours[4 * i + j], fours[4 * i + 2 + j]);
        }
    }
}

/* Write two rows of both blocks; `rows` has both rows of the first in its lower half. */
static NATIVE_AVX2 inline void write_rows(__m256i rows, uint8_t *samples, ptrdiff_t stride) {
    __m256i sorted = _mm256_permute4x64_epi64(rows, 0xD8);
    _mm_storeu_si128((__m128i *)samples, _mm256_castsi256_si128(sorted));
    _mm_storeu_si128((__m128i *)(samples + stride), _mm256_extracti128_si256(sorted, 1));
}

NATIVE_AVX2 void transform_pair(int16_t *coefficients, const int16_t *factors, uint8_t *samples, ptrdiff_t stride) {
    __m256i v[8], zero = _mm256_setzero_si256();
    for (int i = 0; i < 8; i++) {
        __m256i *row = (__m256i *)(coefficients + 16 * i);
        v[i] = _mm256_mullo_epi16(_mm256_load_si256(row), _mm256_load_si256((const __m256i *)(factors + 16 * i)));
        _mm256_store_si256(row, zero);
    }
    transform_columns(v);
    transpose(v);
    transform_columns(v);
    for (int i = 0; i < 8; i++) v[i] = _mm256_srai_epi16(v[i], 5); /* 2 bits of the factors, 3 of the transform */

    /* `v[i]` has column i of both blocks now. Saturated to bytes, they are put side by side: 2, 4 and 8 columns. */
    __m256i middle = _mm256_set1_epi8((char)0x80);
    __m256i c06 = _mm256_add_epi8(_mm256_packs_epi16(v[0], v[6]), middle);
    __m256i c17 = _mm256_add_epi8(_mm256_packs_epi16(v[1], v[7]), middle);
    __m256i c24 = _mm256_add_epi8(_mm256_packs_epi16(v[2], v[4]), middle);
    __m256i c35 = _mm256_add_epi8(_mm256_packs_epi16(v[3], v[5]), middle);
    __m256i c01 = _mm256_unpacklo_epi8(c06, c17), c67 = _mm256_unpackhi_epi8(c06, c17);
    __m256i c23 = _mm256_unpacklo_epi8(c24, c35), c45 = _mm256_unpackhi_epi8(c24, c35);
    __m256i upper_left = _mm256_unpacklo_epi16(c01, c23), lower_left = _mm256_unpackhi_epi16(c01, c23);
    __m256i upper_right = _mm256_unpacklo_epi16(c45, c67), lower_right = _mm256_unpackhi_epi16(c45, c67);
    write_rows(_mm256_unpacklo_epi32(upper_left, upper_right), samples, stride);
    write_rows(_mm256_unpackhi_epi32(upper_left, upper_right), samples + 2 * stride, stride);
    write_rows(_mm256_unpacklo_epi32(lower_left, lower_right), samples + 4 * stride, stride);
    write_rows(_mm256_unpackhi_epi32(lower_left, lower_right), samples + 6 * stride, stride);
}

NATIVE_AVX2 void transform_flat_pair(int16_t *coefficients, const int16_t *factors, uint8_t *samples,
                                     ptrdiff_t stride) {
    __m128i first = _mm_set1_epi16((int16_t)(coefficients[0] * factors[0]));
    __m128i second = _mm_set1_epi16((int16_t)(coefficients[BLOCK_SIDE] * factors[BLOCK_SIDE]));
    __m128i both = _mm_packs_epi16(_mm_srai_epi16(first, 5), _mm_srai_epi16(second, 5));
    both = _mm_add_epi8(both, _mm_set1_epi8((char)0x80));
    for (int i = 0; i < BLOCK_SIDE; i++) _mm_storeu_si128((__m128i *)(samples + i * stride), both);
    coefficients[0] = coefficients[BLOCK_SIDE] = 0;
}
#endif
