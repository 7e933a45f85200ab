/* Decodes a window of a plain JPEG: walks through the scan, transforms and colours what lies in the window.
 *
 * It takes baseline and sequential JPEGs of 8 bits, grey or YCbCr of 4:4:4, 4:2:2 and 4:2:0, with or without restart
 * markers, whose one scan is whole to the last bit. It gives the very pixels that libjpeg-turbo gives with its fast
 * DCT and plain upsampling; of 4:2:0 also those that it gives at half the size. Whatever is otherwise, or looks damaged,
 * it declines, and has then written what may be: another codec decides. So it has no errors of its own.
 *
 * The scan goes through a picture in MCUs: blocks of all components that cover the same pixels, row by row. Here one or
 * two MCUs side by side are a group, 16 pixels wide; so a group has whole pairs of blocks, which are transformed
 * together. A row of groups is kept as samples, and made pixels as soon as it is whole.
 */

#include <stdlib.h>
#include <string.h>

#include "bit_reader.h"
#include "block_reader.h"
#include "block_transform.h"
#include "colours.h"
#include "decode_plan.h"
#include "exports.h"
#include "jpeg_header.h"
#include "scan_bytes.h"

/* What is asked for besides the window. */
enum { FORM_COLOURS = 1, FORM_SWAPPED = 2, FORM_TO_THE_END = 4, FORM_HALF = 8 };

#if NATIVE_X86

#define END_OF_IMAGE 0xD9

/* Where reading stands. */
typedef struct {
    ScanBytes scan;
    BitReader reader;
    int predictions[MAX_COMPONENTS];
    int mcus_to_restart, next_restart;
} Progress;

/* Pass over a restart marker, which stands at the next whole byte; returns 0 where it does not. */
static int restart(const Plan *plan, Progress *progress, BitReader *reader) {
    ScanBytes *scan = &progress->scan;
    if (!stands_before(scan, reader, 0xD0 + progress->next_restart)) return 0;
    *reader = read_scan_from(scan, scan->next + 2);
    progress->next_restart = (progress->next_restart + 1) & 7;
    progress->mcus_to_restart = plan->header.restart_interval;
    memset(progress->predictions, 0, sizeof progress->predictions);
    return 1;
}

/* Make ready for an MCU what is not every time; returns 0 where a marker should stand before it and does not, or the
 * scan has ended. */
static __attribute__((noinline)) int prepare_mcu(const Plan *plan, Progress *progress, BitReader *reader) {
    if (plan->header.restart_interval) {
        if (!progress->mcus_to_restart && !restart(plan, progress, reader)) return 0;
        progress->mcus_to_restart--;
    }
    return reader->at < progress->scan.limit || copy_more(&progress->scan, reader);
}

/* Begin an MCU; returns 0 where the scan is damaged. */
INLINE int begin_mcu(const Plan *plan, Progress *progress, BitReader *reader) {
    if (!plan->header.restart_interval && reader->at < progress->scan.limit) return 1;
    BitReader copy = *reader; /* so that the compiler can keep the reader itself in registers */
    int good = prepare_mcu(plan, progress, &copy);
    *reader = copy;
    return good;
}

/* Read the first coefficient of a block; returns 0 where the scan is damaged. */
INLINE int read_first(Progress *progress, BitReader *reader, const Block *block, int *first) {
    int difference;
    fill(reader);
    if (read_symbol(reader, block->dc, &difference) < 0) return 0;
    *first = progress->predictions[block->component] += difference;
    return *first == (int16_t)*first;
}

/* Read the coefficients of an MCU; returns which pairs have more than the first ones, as bits, or DAMAGED. */
INLINE int read_mcu(const Plan *plan, Progress *progress, BitReader *reader, int mcu) {
    const Block *block = plan->blocks[mcu], *end = block + plan->blocks_in_mcu;
    int uneven = 0, first;
    for (; block < end; block++) {
        if (!read_first(progress, reader, block, &first)) return DAMAGED;
        if (!block->place) {
            if (!skip_coefficients(reader, block->ac)) return DAMAGED;
            continue;
        }
        block->place[0] = (int16_t)first;
        int last = read_coefficients(reader, block->ac, block->place);
        if (last < 0) return DAMAGED;
        uneven |= (last != 0) << block->pair;
    }
    return uneven;
}

/* Pass over one MCU; returns 0 where the scan is damaged. */
INLINE int skip_mcu(const Plan *plan, Progress *progress, BitReader *reader) {
    const Block *block = plan->blocks[0], *end = block + plan->blocks_in_mcu;
    int first;
    for (; block < end; block++)
        if (!read_first(progress, reader, block, &first) || !skip_coefficients(reader, block->ac)) return 0;
    return 1;
}

/* Pass over the MCUs from one to another; returns 0 where the scan is damaged. */
static NATIVE_AVX2 int skip_mcus(const Plan *plan, Progress *progress, int from, int to) {
    BitReader reader = progress->reader;
    for (int mcu = from; mcu < to; mcu++)
        if (!begin_mcu(plan, progress, &reader) || !skip_mcu(plan, progress, &reader)) return 0;
    progress->reader = reader;
    return bits_left(&progress->scan, &reader) >= 0;
}

/* Make samples of a group's coefficients; `uneven`: which pairs have more than the first coefficients. */
static NATIVE_AVX2 void transform_group(const Plan *plan, JpegDecoder *decoder, int group, int uneven) {
    for (int i = 0; i < plan->pairs_in_group; i++) {
        const PairPlace *place = &plan->pairs[i];
        uint8_t *samples = place->samples + (ptrdiff_t)group * place->advance;
        if (plan->half && i < plan->luma_pairs)
            transform_half_pair(decoder->coefficients[i], decoder->factors[i], samples, place->stride);
        else if (uneven >> i & 1)
            transform_pair(decoder->coefficients[i], decoder->factors[i], samples, place->stride);
        else
            transform_flat_pair(decoder->coefficients[i], decoder->factors[i], samples, place->stride);
    }
}

/* Decode one row of groups; those of the window become samples. Returns 0 where the scan is damaged. */
static NATIVE_AVX2 int decode_row(const Plan *plan, JpegDecoder *decoder, Progress *progress) {
    int each = plan->mcus_in_group, count = plan->mcus_in_row;
    if (!skip_mcus(plan, progress, 0, plan->first_group * each)) return 0;
    BitReader reader = progress->reader;
    for (int group = plan->first_group; group < plan->groups_end; group++) {
        int uneven = 0;
        for (int mcu = 0; mcu < each && group * each + mcu < count; mcu++) {
            if (!begin_mcu(plan, progress, &reader)) return 0;
            int found = read_mcu(plan, progress, &reader, mcu);
            if (found < 0) return 0;
            uneven |= found;
        }
        transform_group(plan, decoder, group - plan->first_group, uneven);
    }
    progress->reader = reader;
    return skip_mcus(plan, progress, plan->groups_end * each, count);
}

/* Write the pixels of a row of groups that lie in the window. */
static NATIVE_AVX2 void write_row(const Plan *plan, int row, uint8_t *pixels) {
    const Window *window = &plan->window;
    int top = row * plan->group_height, first = window->top > top ? window->top - top : 0;
    int end = window->top + window->height - top < plan->group_height ? window->top + window->height - top
                                                                      : plan->group_height;
    int skipped = window->left % GROUP_WIDTH, halved = plan->rows_share_colours;
    ptrdiff_t stride = (ptrdiff_t)window->width * plan->form.channels;
    for (int at = first; at < end;) {
        uint8_t *place = pixels + (top + at - window->top) * stride;
        SampleRow samples = {plan->luma + at * plan->luma_stride,
                             plan->colours + (halved ? at / 2 : at) * plan->colours_stride};
        if (halved && at % 2 == 0 && at + 1 < end) {
            write_two_rows(&plan->form, samples, samples.luma + plan->luma_stride, skipped, window->width, place,
                           place + stride);
            at += 2;
        } else {
            write_pixels(&plan->form, samples, skipped, window->width, place);
            at++;
        }
    }
}

static NATIVE_AVX2 int decode(const Plan *plan, JpegDecoder *decoder, const uint8_t *data, size_t size,
                              uint8_t *pixels) {
    Progress progress = {.mcus_to_restart = plan->header.restart_interval};
    progress.scan = (ScanBytes){.room = decoder->scan, .data_end = data + size};
    progress.reader = read_scan_from(&progress.scan, data + plan->header.scan_at);
    int first_row = plan->window.top / plan->group_height;
    int rows_end = (plan->window.top + plan->window.height - 1) / plan->group_height + 1;
    for (int row = 0; row < first_row; row++)
        if (!skip_mcus(plan, &progress, 0, plan->mcus_in_row)) return 0;
    for (int row = first_row; row < rows_end; row++) {
        if (!decode_row(plan, decoder, &progress)) return 0;
        write_row(plan, row, pixels);
    }
    /* Below the last row there is the scan's end alone, and that belongs to the row. */
    if (!plan->to_the_end && rows_end < plan->mcu_rows) return 1;
    for (int row = rows_end; row < plan->mcu_rows; row++)
        if (!skip_mcus(plan, &progress, 0, plan->mcus_in_row)) return 0;
    return stands_before(&progress.scan, &progress.reader, END_OF_IMAGE);
}

#endif

/* Return a decoder, for one thread at a time; NULL without memory. */
NATIVE_EXPORT JpegDecoder *jpeg_decoder_new(void) {
    JpegDecoder *decoder = aligned_alloc(_Alignof(JpegDecoder), sizeof *decoder);
    return decoder ? memset(decoder, 0, sizeof *decoder) : NULL;
}

NATIVE_EXPORT void jpeg_decoder_free(JpegDecoder *decoder) {
    if (decoder) free(decoder->samples);
    free(decoder);
}

/* Decode a window of a JPEG of `frame_height` x `frame_width` pixels into `pixels`, of (height, width, 3 or 1) bytes
 * without gaps. `form` is a sum of the FORM_ values; with FORM_HALF the window is one of the picture at half its height
 * and width. Returns 1, or 0 where it declines. */
NATIVE_EXPORT int jpeg_decoder_decode(JpegDecoder *decoder, const uint8_t *data, size_t size, uint8_t *pixels, int form,
                                      int frame_height, int frame_width, int top, int left, int height, int width) {
#if NATIVE_X86
    Plan plan;
    if (!decoder || !read_jpeg_header(data, size, &plan.header)) return 0;
    if (plan.header.height != frame_height || plan.header.width != frame_width) return 0;
    plan.form = (PixelForm){NO_COLOURS, form & FORM_COLOURS ? 3 : 1, (form & FORM_SWAPPED) != 0};
    plan.window = (Window){top, left, height, width};
    plan.half = (form & FORM_HALF) != 0;
    /* What lies below the window counts where it is asked for; and where other ways to the window would look at it. */
    plan.to_the_end =
        form & FORM_TO_THE_END || plan.header.says_restart_interval || plan.header.scan_segment_at + 20 >= size;
    if (!make_plan(&plan, decoder)) return 0;
    int good = decode(&plan, decoder, data, size, pixels);
    if (!good) memset(decoder->coefficients, 0, sizeof decoder->coefficients);
    return good;
#else
    (void)decoder, (void)data, (void)size, (void)pixels, (void)form, (void)frame_height, (void)frame_width;
    (void)top, (void)left, (void)height, (void)width;
    return 0;
#endif
}
