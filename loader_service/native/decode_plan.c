/* Plans one decode: makes the tables ready, finds the groups of a window, and takes memory for their samples. */

#include "decode_plan.h"

#include <stdlib.h>

#define MOST_ROWS 16   /* of a group, in pixels */
#define COLOUR_ROWS 8
#define SLACK 32       /* samples that may be read behind the last group */

static int divided_up(int number, int by) { return (number + by - 1) / by; }

static int plan_tables(JpegDecoder *decoder, const JpegHeader *header, int skips) {
    for (int i = 0; i < header->components; i++) {
        int dc = header->dc_table[i], ac = header->ac_table[i];
        if (!prepare_table(&decoder->dc[dc], &header->dc[dc], 0)) return 0;
        if (!prepare_table(&decoder->ac[ac], &header->ac[ac], 1)) return 0;
        if (skips) prepare_skips(&decoder->ac[ac]);
    }
    return 1;
}

/* Say which blocks the MCUs of a group have, and to which pairs they belong. */
static void plan_blocks(Plan *plan, JpegDecoder *decoder) {
    const JpegHeader *header = &plan->header;
    int luma_blocks = header->across * header->down, has_colours = plan->form.channels == 3;
    plan->blocks_in_mcu = luma_blocks + header->components - 1;
    plan->luma_pairs = plan->half ? plan->mcus_in_group * header->down : header->down;
    plan->pairs_in_group = plan->luma_pairs + (header->components == 3 && has_colours ? plan->mcus_in_group : 0);
    for (int mcu = 0; mcu < plan->mcus_in_group; mcu++) {
        for (int i = 0; i < plan->blocks_in_mcu; i++) {
            int component = i < luma_blocks ? 0 : 1 + i - luma_blocks;
            int pair = component ? plan->luma_pairs + mcu : i / 2 + (plan->half ? mcu * header->down : 0);
            int side = component ? component - 1 : luma_blocks == 1 ? mcu : i % 2;
            int16_t *place = component && !has_colours ? NULL : decoder->coefficients[pair] + side * BLOCK_SIDE;
            plan->blocks[mcu][i] = (Block){&decoder->dc[header->dc_table[component]],
                                           &decoder->ac[header->ac_table[component]], component, pair, place};
        }
    }
}

static int take_samples(Plan *plan, JpegDecoder *decoder) {
    int groups = plan->groups_end - plan->first_group;
    plan->luma_stride = groups * GROUP_WIDTH + SLACK;
    plan->colours_stride = plan->mcus_in_group * groups * GROUP_WIDTH + 2 * SLACK;
    size_t size = (size_t)plan->luma_stride * MOST_ROWS + (size_t)plan->colours_stride * COLOUR_ROWS;
    if (decoder->samples_size < size) {
        free(decoder->samples);
        decoder->samples = calloc(size, 1);
        decoder->samples_size = decoder->samples ? size : 0;
        if (!decoder->samples) return 0;
    }
    plan->luma = decoder->samples;
    plan->colours = plan->luma + plan->luma_stride * MOST_ROWS;
    return 1;
}

/* Say where the samples of each pair go, and by which factors they are made. */
static void plan_pairs(Plan *plan, JpegDecoder *decoder) {
    int side = plan->half ? BLOCK_SIDE / 2 : BLOCK_SIDE, down = plan->header.down;
    for (int i = 0; i < plan->luma_pairs; i++) {
        uint8_t *samples = plan->luma + i % down * side * plan->luma_stride + i / down * 2 * side;
        plan->pairs[i] = (PairPlace){samples, plan->luma_stride, GROUP_WIDTH};
        for (int which = 0; which < 2; which++)
            (plan->half ? order_steps : scale_steps)(plan->header.quantisation[0], which, decoder->factors[i]);
    }
    for (int i = plan->luma_pairs; i < plan->pairs_in_group; i++) {
        uint8_t *samples = plan->colours + (i - plan->luma_pairs) * GROUP_WIDTH;
        plan->pairs[i] = (PairPlace){samples, plan->colours_stride, plan->mcus_in_group * GROUP_WIDTH};
        for (int which = 0; which < 2; which++)
            scale_steps(plan->header.quantisation[1 + which], which, decoder->factors[i]);
    }
}

int make_plan(Plan *plan, JpegDecoder *decoder) {
    const JpegHeader *header = &plan->header;
    const Window *window = &plan->window;
    int scale = plan->half ? 2 : 1;
    /* At half its size 4:2:0 alone is known here: its colours are whole then, and only the luma is made smaller. */
    if (plan->half && (header->across != 2 || header->down != 2 || header->components != 3)) return 0;
    int height = divided_up(header->height, scale), width = divided_up(header->width, scale);
    if (window->top < 0 || window->left < 0 || window->height < 1 || window->width < 1) return 0;
    if (window->height > height - window->top || window->width > width - window->left) return 0;
    int mcu_width = BLOCK_SIDE * header->across / scale;
    plan->mcus_in_group = GROUP_WIDTH / mcu_width;
    plan->group_height = BLOCK_SIDE * header->down / scale;
    plan->mcus_in_row = divided_up(width, mcu_width);
    plan->mcu_rows = divided_up(height, plan->group_height);
    plan->first_group = window->left / GROUP_WIDTH;
    plan->groups_end = divided_up(window->left + window->width, GROUP_WIDTH);
    plan->rows_share_colours = header->down == 2 && !plan->half;
    plan->form.colouring = header->components == 1                ? NO_COLOURS
                           : header->across == 2 && !plan->half   ? HALF_COLOURS
                                                                  : WHOLE_COLOURS;
    int skips = window->height != height || window->width != width || plan->form.channels == 1;
    plan_blocks(plan, decoder);
    if (!plan_tables(decoder, header, skips) || !take_samples(plan, decoder)) return 0;
    plan_pairs(plan, decoder);
    return 1;
}
