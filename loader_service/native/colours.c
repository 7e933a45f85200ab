/* YCbCr to RGB (T.871, section 7) in 16-bit arithmetic, to the bit as libjpeg-turbo computes it.
 *
 *     R = Y + 1.402 Cr        G = Y - 0.34414 Cb - 0.71414 Cr        B = Y + 1.772 Cb
 *
 * What is added to Y is rounded before it is. So that constants fit into 16 bits, whole parts are added apart:
 * 1.402 = 1 + 0.402, 0.71414 = 1 - 0.28586, 1.772 = 2 - 0.228.
 */

#include "colours.h"

#include <stddef.h>
#include <string.h>

#include "exports.h"

#if NATIVE_X86
#include <immintrin.h>

#define STEP 32 /* pixels at a time */

/* 16 bits behind the point. */
#define F_0_402 26345
#define F_0_344 22554
#define F_0_285 18734
#define F_0_228 14942

typedef struct {
    __m256i red, green, blue;
} Colours;

#define ALWAYS static NATIVE_AVX2 inline __attribute__((always_inline))

/* Half of the product of twice the value and a constant, rounded. */
ALWAYS __m256i product(__m256i value, int constant) {
    __m256i twice = _mm256_mulhi_epi16(_mm256_add_epi16(value, value), _mm256_set1_epi16((int16_t)constant));
    return _mm256_srai_epi16(_mm256_add_epi16(twice, _mm256_set1_epi16(1)), 1);
}

/* Return what is to be added to Y, of 16 pairs: in each half 8 samples of Cb, 8 of Cr. */
ALWAYS Colours added_colours(const uint8_t *colours) {
    __m256i samples = _mm256_loadu_si256((const __m256i *)colours), zero = _mm256_setzero_si256();
    __m256i middle = _mm256_set1_epi16(128);
    __m256i cb = _mm256_sub_epi16(_mm256_unpacklo_epi8(samples, zero), middle);
    __m256i cr = _mm256_sub_epi16(_mm256_unpackhi_epi8(samples, zero), middle);
    __m256i factors = _mm256_set1_epi32((int)((uint32_t)F_0_285 << 16 | (uint16_t)-F_0_344));
    __m256i half = _mm256_set1_epi32(1 << 15);
    __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), factors);
    __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), factors);
    low = _mm256_srai_epi32(_mm256_add_epi32(low, half), 16);
    high = _mm256_srai_epi32(_mm256_add_epi32(high, half), 16);
    Colours added = {
        _mm256_add_epi16(product(cr, F_0_402), cr),
        _mm256_sub_epi16(_mm256_packs_epi32(low, high), cr),
        _mm256_add_epi16(product(cb, -F_0_228), _mm256_add_epi16(cb, cb)),
    };
    return added;
}

/* For the order of bytes in each half of three channels: as they are, or the even pixels before the odd ones. */
#define AS_THEY_ARE(pixel) (pixel)
#define EVEN_FIRST(pixel) ((pixel) % 2 * 8 + (pixel) / 2)
#define FROM(channel, at, order) ((at) % 3 == (channel) ? order((at) / 3) : -128)
#define PICK(channel, at, order)                                                                                      \
    _mm256_broadcastsi128_si256(_mm_setr_epi8(                                                                        \
        FROM(channel, at, order), FROM(channel, at + 1, order), FROM(channel, at + 2, order),                         \
        FROM(channel, at + 3, order), FROM(channel, at + 4, order), FROM(channel, at + 5, order),                     \
        FROM(channel, at + 6, order), FROM(channel, at + 7, order), FROM(channel, at + 8, order),                     \
        FROM(channel, at + 9, order), FROM(channel, at + 10, order), FROM(channel, at + 11, order),                   \
        FROM(channel, at + 12, order), FROM(channel, at + 13, order), FROM(channel, at + 14, order),                  \
        FROM(channel, at + 15, order)))
/* 16 bytes of the 48 that the 16 pixels of each half make. */
#define MIXED(at, order)                                                                                              \
    _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(first, PICK(0, at, order)),                                   \
                                    _mm256_shuffle_epi8(second, PICK(1, at, order))),                                 \
                    _mm256_shuffle_epi8(third, PICK(2, at, order)))

ALWAYS void store_pixels(__m256i a, __m256i b, __m256i c, uint8_t *pixels) {
    _mm256_storeu_si256((__m256i *)pixels, _mm256_permute2x128_si256(a, b, 0x20));
    _mm256_storeu_si256((__m256i *)(pixels + 32), _mm256_permute2x128_si256(c, a, 0x30));
    _mm256_storeu_si256((__m256i *)(pixels + 64), _mm256_permute2x128_si256(b, c, 0x31));
}

/* Write 32 pixels of three channels, each with 16 pixels in each half, the even ones first. */
ALWAYS void mix_even_first(__m256i first, __m256i second, __m256i third, uint8_t *pixels) {
    store_pixels(MIXED(0, EVEN_FIRST), MIXED(16, EVEN_FIRST), MIXED(32, EVEN_FIRST), pixels);
}

/* The same with the pixels as they are. */
ALWAYS void mix(__m256i first, __m256i second, __m256i third, uint8_t *pixels) {
    store_pixels(MIXED(0, AS_THEY_ARE), MIXED(16, AS_THEY_ARE), MIXED(32, AS_THEY_ARE), pixels);
}

/* Return one channel of 32 pixels in the order of `mix_even_first`: of their luma, and what is added to each two. */
ALWAYS __m256i channel_of_halves(__m256i luma, __m256i added) {
    __m256i even = _mm256_add_epi16(_mm256_and_si256(luma, _mm256_set1_epi16(255)), added);
    return _mm256_packus_epi16(even, _mm256_add_epi16(_mm256_srli_epi16(luma, 8), added));
}

ALWAYS void write_half_coloured(const uint8_t *luma, Colours added, uint8_t *pixels) {
    __m256i y = _mm256_loadu_si256((const __m256i *)luma);
    mix_even_first(channel_of_halves(y, added.red), channel_of_halves(y, added.green),
                   channel_of_halves(y, added.blue), pixels);
}

/* Return one channel of 32 pixels in their order, of two times 16. */
ALWAYS __m256i channel_of_wholes(__m256i left, __m256i left_added, __m256i right, __m256i right_added) {
    __m256i packed = _mm256_packus_epi16(_mm256_add_epi16(left, left_added), _mm256_add_epi16(right, right_added));
    return _mm256_permute4x64_epi64(packed, 0xD8);
}

ALWAYS void write_whole_coloured(const uint8_t *luma, Colours left, Colours right, uint8_t *pixels) {
    __m256i y = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)luma));
    __m256i z = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(luma + 16)));
    mix(channel_of_wholes(y, left.red, z, right.red), channel_of_wholes(y, left.green, z, right.green),
        channel_of_wholes(y, left.blue, z, right.blue), pixels);
}

ALWAYS Colours ordered(Colours added, int swapped) {
    Colours other = {added.blue, added.green, added.red};
    return swapped ? other : added;
}

/* Write 32 pixels from sample `at` on, of one row, or of two where `lower_luma` is not NULL. */
ALWAYS void write_step(const PixelForm *form, SampleRow row, const uint8_t *lower_luma, int at, uint8_t *pixels,
                       uint8_t *lower_pixels) {
    if (form->colouring == NO_COLOURS) {
        __m256i grey = _mm256_loadu_si256((const __m256i *)(row.luma + at));
        mix(grey, grey, grey, pixels);
    } else if (form->colouring == HALF_COLOURS) {
        Colours added = ordered(added_colours(row.colours + at), form->swapped);
        write_half_coloured(row.luma + at, added, pixels);
        if (lower_luma) write_half_coloured(lower_luma + at, added, lower_pixels);
    } else {
        Colours left = ordered(added_colours(row.colours + 2 * at), form->swapped);
        Colours right = ordered(added_colours(row.colours + 2 * at + 32), form->swapped);
        write_whole_coloured(row.luma + at, left, right, pixels);
    }
}

/* Write what is wanted of 32 pixels at the edge of a row: `count` of them, without the first `skipped`. */
static NATIVE_AVX2 void write_edge(const PixelForm *form, SampleRow row, const uint8_t *lower_luma, int at, int skipped,
                                   int count, uint8_t *pixels, uint8_t *lower_pixels) {
    uint8_t upper[3 * STEP], lower[3 * STEP];
    write_step(form, row, lower_luma, at, upper, lower);
    memcpy(pixels, upper + 3 * skipped, 3 * (size_t)count);
    if (lower_luma) memcpy(lower_pixels, lower + 3 * skipped, 3 * (size_t)count);
}

ALWAYS void write_rows(const PixelForm *form, SampleRow row, const uint8_t *lower_luma, int skipped, int width,
                       uint8_t *pixels, uint8_t *lower_pixels) {
    int at = 0, end = skipped + width; /* in samples; the pixels of sample `at` lie at at - skipped */
    if (form->channels == 1) {
        memcpy(pixels, row.luma + skipped, (size_t)width);
        if (lower_luma) memcpy(lower_pixels, lower_luma + skipped, (size_t)width);
        return;
    }
    if (skipped) {
        int count = (end < STEP ? end : STEP) - skipped;
        write_edge(form, row, lower_luma, 0, skipped, count, pixels, lower_pixels);
        at = STEP;
    }
    for (; at + STEP <= end; at += STEP)
        write_step(form, row, lower_luma, at, pixels + 3 * (at - skipped), lower_pixels + 3 * (at - skipped));
    if (at < end)
        write_edge(form, row, lower_luma, at, 0, end - at, pixels + 3 * (at - skipped),
                   lower_pixels + 3 * (at - skipped));
}

NATIVE_AVX2 void write_pixels(const PixelForm *form, SampleRow row, int skipped, int width, uint8_t *pixels) {
    write_rows(form, row, NULL, skipped, width, pixels, pixels);
}

NATIVE_AVX2 void write_two_rows(const PixelForm *form, SampleRow row, const uint8_t *lower_luma, int skipped, int width,
                                uint8_t *pixels, uint8_t *lower_pixels) {
    write_rows(form, row, lower_luma, skipped, width, pixels, lower_pixels);
}
#endif
