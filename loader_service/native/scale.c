/* Scales pixels of three channels bilinearly, and mirrors them on the way, to the bit as OpenCV does the one and the
 * other for bytes (`cv2.resize` with INTER_LINEAR, `cv2.flip`).
 *
 * Weights have 11 bits behind the point. A row of the source is scaled to sums of two pixels, of which 4 bits are cut
 * off; products of two such rows and their weights lose 16 more, each by itself, and the sum of both is rounded.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "exports.h"

#if NATIVE_X86
#include <immintrin.h>

#define ALWAYS static NATIVE_AVX2 inline __attribute__((always_inline))

#define ONE 2048.0f /* a weight of 1 */
#define MOST_SIDE 65500
#define OVERREAD 16 /* bytes that may be read behind a row's last pixel */

/* Which two pixels of a line make one: `from` and the next one. */
typedef struct {
    int from;
    int16_t weights[2];
} Tap;

/* Rounded, halves to the even number. */
static int16_t weight_of(float share) { return (int16_t)_mm_cvtss_si32(_mm_set_ss(share * ONE)); }

/* The tap of pixel `at` of `wanted`, made of `length`: pixels are centred on each other. */
static Tap tap_of(int at, int length, int wanted) {
    double scale = 1.0 / ((double)wanted / length);
    float place = (float)((at + 0.5) * scale - 0.5);
    int from = (int)place - (place < (float)(int)place);
    float share = place - (float)from;
    Tap tap = {from, {weight_of(1.0f - share), weight_of(share)}};
    return tap;
}

static int within(int place, int length) { return place < 0 ? 0 : place < length ? place : length - 1; }

/* Four pixels are made together, the first and third of them in one register: weights lie in that order. */
#define TOGETHER 4
#define ORDERED(at) ((at) / 4 * 4 + "\0\2\1\3"[(at) % 4])

/* One picture on its way. Memory is rounded up to whole steps of eight pixels. */
typedef struct {
    int32_t *offsets;    /* where each pixel's first source lies in its row, in bytes */
    int16_t (*weights)[8]; /* for each pixel, ORDERED: both weights four times */
    int16_t *rows[2];    /* scaled rows, of four values for each pixel; row y of the source in rows[y % 2] */
    int have[2];         /* which these are */
    uint8_t *last;       /* room for the source's last row and what is read behind it */
} Scaling;

/* The first two sources of a pixel, as 16 bits: channel by channel one beside the other. */
ALWAYS __m256i sources(const uint8_t *row, const int32_t *offsets, int one, int other) {
    __m256i two = _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(row + offsets[one])));
    two = _mm256_inserti128_si256(two, _mm_loadu_si128((const __m128i *)(row + offsets[other])), 1);
    return _mm256_shuffle_epi8(two, _mm256_broadcastsi128_si256(_mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1,
                                                                              -1, -1, -1, -1)));
}

static NATIVE_AVX2 void scale_row(const Scaling *scaling, const uint8_t *row, int width, int16_t *scaled) {
    for (int at = 0; at < width; at += TOGETHER) {
        const int32_t *offsets = scaling->offsets + at;
        const __m256i *weights = (const __m256i *)scaling->weights[at];
        __m256i even = _mm256_madd_epi16(sources(row, offsets, 0, 2), _mm256_load_si256(weights));
        __m256i odd = _mm256_madd_epi16(sources(row, offsets, 1, 3), _mm256_load_si256(weights + 1));
        __m256i all = _mm256_packs_epi32(_mm256_srai_epi32(even, 4), _mm256_srai_epi32(odd, 4));
        _mm256_store_si256((__m256i *)(scaled + 4 * at), all);
    }
}

ALWAYS __m256i mixed(const int16_t *upper, const int16_t *lower, __m256i weight, __m256i lower_weight) {
    __m256i sum = _mm256_add_epi16(_mm256_mulhi_epi16(_mm256_load_si256((const __m256i *)upper), weight),
                                   _mm256_mulhi_epi16(_mm256_load_si256((const __m256i *)lower), lower_weight));
    return _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_set1_epi16(2)), 2);
}

/* Write a row of pixels, made of two scaled ones. */
static NATIVE_AVX2 void mix_rows(const int16_t *upper, const int16_t *lower, Tap tap, int width, uint8_t *pixels) {
    __m256i weight = _mm256_set1_epi16(tap.weights[0]), lower_weight = _mm256_set1_epi16(tap.weights[1]);
    __m256i three_of_four = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1,
                                                                      -1, -1));
    for (int at = 0; at < width; at += 8) {
        uint8_t some[32], *place = at + 10 <= width ? pixels + 3 * at : some;
        __m256i first = mixed(upper + 4 * at, lower + 4 * at, weight, lower_weight);
        __m256i second = mixed(upper + 4 * at + 16, lower + 4 * at + 16, weight, lower_weight);
        __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xD8);
        bytes = _mm256_shuffle_epi8(bytes, three_of_four);
        _mm_storeu_si128((__m128i *)place, _mm256_castsi256_si128(bytes));
        _mm_storeu_si128((__m128i *)(place + 12), _mm256_extracti128_si256(bytes, 1));
        if (place == some) memcpy(pixels + 3 * at, some, 3 * (size_t)(width - at < 8 ? width - at : 8));
    }
}

/* Take memory for a picture, and find what its columns are made of; returns that memory, NULL without any. */
static void *prepare(Scaling *scaling, int width, int out_width, int mirrored) {
    size_t pixels = ((size_t)out_width + 7) / 8 * 8, row = pixels * 4 * sizeof(int16_t);
    uint8_t *memory = aligned_alloc(32, (pixels * (sizeof *scaling->weights + sizeof(int32_t)) + 2 * row +
                                         3 * (size_t)width + OVERREAD + 31) / 32 * 32);
    if (!memory) return NULL;
    scaling->weights = (int16_t(*)[8])memory;
    scaling->rows[0] = (int16_t *)(scaling->weights + pixels);
    scaling->rows[1] = scaling->rows[0] + 4 * pixels;
    scaling->offsets = (int32_t *)(scaling->rows[1] + 4 * pixels);
    scaling->last = (uint8_t *)(scaling->offsets + pixels);
    scaling->have[0] = scaling->have[1] = -1;
    for (int at = 0; at < (int)pixels; at++) {
        int column = within(at, out_width);
        Tap tap = tap_of(mirrored ? out_width - 1 - column : column, width, out_width);
        if (tap.from < 0 || tap.from >= width - 1) tap = (Tap){within(tap.from, width), {(int16_t)ONE, 0}};
        scaling->offsets[at] = 3 * tap.from;
        for (int i = 0; i < 8; i++) scaling->weights[ORDERED(at)][i] = tap.weights[i % 2];
    }
    return memory;
}
#endif

/* Scale `height` rows of `width` pixels of 3 bytes, `stride` bytes from one to the next, to rows without gaps. Returns 1,
 * or 0 where it declines: OpenCV averages pixels where both sides become half as long. */
NATIVE_EXPORT int native_scale(const uint8_t *pixels, int64_t stride, int height, int width, uint8_t *out, int out_height,
                               int out_width, int mirrored) {
#if NATIVE_X86
    Scaling scaling;
    if (height < 1 || width < 1 || out_height < 1 || out_width < 1 || stride < 3 * (int64_t)width) return 0;
    if (height > MOST_SIDE || width > MOST_SIDE || out_height > MOST_SIDE || out_width > MOST_SIDE) return 0;
    if (height == 2 * out_height && width == 2 * out_width) return 0;
    void *memory = prepare(&scaling, width, out_width, mirrored);
    if (!memory) return 0;
    for (int at = 0; at < out_height; at++) {
        Tap tap = tap_of(at, height, out_height);
        int rows[2] = {within(tap.from, height), within(tap.from + 1, height)};
        for (int i = 0; i < 2; i++) {
            int number = rows[i], which = number % 2;
            if (scaling.have[which] == number) continue;
            const uint8_t *row = pixels + number * stride;
            if ((height - 1 - number) * stride < OVERREAD) row = memcpy(scaling.last, row, 3 * (size_t)width);
            scale_row(&scaling, row, out_width, scaling.rows[which]);
            scaling.have[which] = number;
        }
        mix_rows(scaling.rows[rows[0] % 2], scaling.rows[rows[1] % 2], tap, out_width,
                 out + 3 * (int64_t)at * out_width);
    }
    free(memory);
    return 1;
#else
    (void)pixels, (void)stride, (void)height, (void)width, (void)out, (void)out_height, (void)out_width, (void)mirrored;
    return 0;
#endif
}
