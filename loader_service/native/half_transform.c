/* Makes 4 x 4 samples of a block's 8 x 8 coefficients, two blocks at a time, to the bit as libjpeg-turbo does it with SIMD
 * for pictures at half their size: products of 16 bits, sums of 32, saturated to 16 between columns and rows.
 *
 * The last row and column of cosines that would be seen, the fifth, is left out. A block without coefficients below its
 * first row (but the fifth) goes a shorter way there, which wraps around where the other saturates; so it does here.
 * References: Loeffler, Ligtenberg, Moschytz, "Practical fast 1-D DCT algorithms with 11 multiplications" (1989), with
 * half of its outputs; libjpeg-turbo's jidctred for how many bits a constant has.
 */

#include "block_transform.h"
#include "exports.h"

void order_steps(const uint8_t *steps, int half, int16_t factors[PAIR_SIZE]) {
    for (int i = 0; i < BLOCK_SIZE; i++) factors[pair_places[i] + half * BLOCK_SIDE] = steps[i];
}

#if NATIVE_X86
#include <immintrin.h>

#define INLINE static NATIVE_AVX2 inline __attribute__((always_inline))

/* Constants have 13 bits behind the point: two of them, for two values side by side. */
#define PAIR_OF(first, second) _mm256_set1_epi32((int)((uint32_t)(second) << 16 | (uint16_t)(first)))
#define F_0_211 1730
#define F_0_509 4176
#define F_0_601 4926
#define F_0_765 6270
#define F_0_899 7373
#define F_1_061 8697
#define F_1_451 11893
#define F_1_847 15137
#define F_2_172 17799
#define F_2_562 20995

typedef struct {
    __m256i sample[4]; /* of 32 bits */
} Samples;

/* One dimension: `first` has nothing but 0 below each value; the others two values side by side. */
INLINE Samples transformed(__m256i first, __m256i two_six, __m256i one_three, __m256i five_seven, int shift) {
    __m256i middle = _mm256_srai_epi32(first, 2); /* 16 bits to the left, 14 of which are wanted */
    __m256i even = _mm256_madd_epi16(two_six, PAIR_OF(F_1_847, -F_0_765));
    __m256i outer = _mm256_add_epi32(_mm256_madd_epi16(five_seven, PAIR_OF(-F_0_601, -F_0_509)),
                                     _mm256_madd_epi16(one_three, PAIR_OF(F_2_562, F_0_899)));
    __m256i inner = _mm256_add_epi32(_mm256_madd_epi16(five_seven, PAIR_OF(F_1_451, -F_0_211)),
                                     _mm256_madd_epi16(one_three, PAIR_OF(F_1_061, -F_2_172)));
    __m256i sum = _mm256_add_epi32(middle, even), difference = _mm256_sub_epi32(middle, even);
    Samples all = {{_mm256_add_epi32(sum, outer), _mm256_add_epi32(difference, inner),
                    _mm256_sub_epi32(difference, inner), _mm256_sub_epi32(sum, outer)}};
    for (int i = 0; i < 4; i++)
        all.sample[i] = _mm256_srai_epi32(_mm256_add_epi32(all.sample[i], _mm256_set1_epi32(1 << (shift - 1))), shift);
    return all;
}

/* Return in each half, all of it, whether nothing is set in it. */
INLINE __m256i is_empty(__m256i value) {
    __m256i zero = _mm256_cmpeq_epi64(value, _mm256_setzero_si256());
    return _mm256_and_si256(zero, _mm256_shuffle_epi32(zero, 0x4E));
}

NATIVE_AVX2 void transform_half_pair(int16_t *coefficients, const int16_t *factors, uint8_t *samples,
                                     ptrdiff_t stride) {
    __m256i v[8], zero = _mm256_setzero_si256(), below = zero;
    for (int i = 0; i < 8; i++) {
        __m256i *row = (__m256i *)(coefficients + 16 * i), value = _mm256_load_si256(row);
        if (i != 0 && i != 4) below = _mm256_or_si256(below, value);
        v[i] = _mm256_mullo_epi16(value, _mm256_load_si256((const __m256i *)(factors + 16 * i)));
        _mm256_store_si256(row, zero);
    }
    Samples left = transformed(_mm256_unpacklo_epi16(zero, v[0]), _mm256_unpacklo_epi16(v[2], v[6]),
                               _mm256_unpacklo_epi16(v[1], v[3]), _mm256_unpacklo_epi16(v[5], v[7]), 12);
    Samples right = transformed(_mm256_unpackhi_epi16(zero, v[0]), _mm256_unpackhi_epi16(v[2], v[6]),
                                _mm256_unpackhi_epi16(v[1], v[3]), _mm256_unpackhi_epi16(v[5], v[7]), 12);
    __m256i row[4], same = _mm256_slli_epi16(v[0], 2), is_short = is_empty(below);
    for (int i = 0; i < 4; i++)
        row[i] = _mm256_blendv_epi8(_mm256_packs_epi32(left.sample[i], right.sample[i]), same, is_short);

    __m256i a = _mm256_unpacklo_epi16(row[0], row[1]), b = _mm256_unpacklo_epi16(row[2], row[3]);
    __m256i c = _mm256_unpackhi_epi16(row[0], row[1]), d = _mm256_unpackhi_epi16(row[2], row[3]);
    __m256i columns_01 = _mm256_unpacklo_epi32(a, b), columns_23 = _mm256_unpackhi_epi32(a, b);
    __m256i columns_45 = _mm256_unpacklo_epi32(c, d), columns_67 = _mm256_unpackhi_epi32(c, d);
    Samples columns = transformed(
        _mm256_unpacklo_epi16(zero, columns_01), _mm256_unpacklo_epi16(columns_23, columns_67),
        _mm256_unpackhi_epi16(columns_01, columns_23), _mm256_unpackhi_epi16(columns_45, columns_67), 19);
    __m256i even = _mm256_packs_epi32(columns.sample[0], columns.sample[2]);
    __m256i odd = _mm256_packs_epi32(columns.sample[1], columns.sample[3]);
    __m256i first = _mm256_unpacklo_epi16(even, odd), last = _mm256_unpackhi_epi16(even, odd);
    __m256i bytes = _mm256_packs_epi16(_mm256_unpacklo_epi32(first, last), _mm256_unpackhi_epi32(first, last));
    bytes = _mm256_add_epi8(bytes, _mm256_set1_epi8((char)0x80));
    /* Rows of 4 samples of the first block, then of the second: side by side. */
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    __m128i upper = _mm256_castsi256_si128(bytes), lower = _mm256_extracti128_si256(bytes, 1);
    _mm_storel_epi64((__m128i *)samples, upper);
    _mm_storel_epi64((__m128i *)(samples + stride), _mm_unpackhi_epi64(upper, upper));
    _mm_storel_epi64((__m128i *)(samples + 2 * stride), lower);
    _mm_storel_epi64((__m128i *)(samples + 3 * stride), _mm_unpackhi_epi64(lower, lower));
}
#endif
