/* What one decode needs to know before it begins: which blocks there are, and where their samples go. */

#ifndef LOADER_NATIVE_DECODE_PLAN_H
#define LOADER_NATIVE_DECODE_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "block_transform.h"
#include "colours.h"
#include "huffman_tables.h"
#include "jpeg_header.h"
#include "scan_bytes.h"

#define GROUP_WIDTH 16 /* in pixels */
#define MAX_BLOCKS 6   /* of an MCU */
#define MAX_MCUS 2     /* of a group */
#define MAX_PAIRS 6    /* of a group */

/* What is kept from decode to decode. */
typedef struct JpegDecoder {
    HuffmanTable dc[TABLES_OF_A_KIND], ac[TABLES_OF_A_KIND];
    int16_t coefficients[MAX_PAIRS][PAIR_SIZE] __attribute__((aligned(32))); /* 0 between groups */
    int16_t factors[MAX_PAIRS][PAIR_SIZE] __attribute__((aligned(32)));
    uint8_t scan[SCAN_ROOM];
    uint8_t *samples; /* luma, then colours */
    size_t samples_size;
} JpegDecoder;

/* In pixels, at the scale at which the picture is decoded. */
typedef struct {
    int top, left, height, width;
} Window;

/* A block of an MCU: whose tables it has, and where its coefficients go. */
typedef struct {
    const HuffmanTable *dc, *ac;
    int component, pair;
    int16_t *place; /* in its pair; NULL where it is not needed: no colours are where the luma alone is asked for */
} Block;

/* Where the samples of a pair of blocks go: of the first group, and by how much further for each group. */
typedef struct {
    uint8_t *samples;
    ptrdiff_t stride;
    int advance;
} PairPlace;

typedef struct {
    JpegHeader header;
    PixelForm form;
    Window window;
    int half;                                 /* whether the picture is decoded at half its height and width */
    int to_the_end;                           /* whether what lies below the window counts */
    Block blocks[MAX_MCUS][MAX_BLOCKS];       /* of the MCUs of a group */
    PairPlace pairs[MAX_PAIRS];
    int blocks_in_mcu, mcus_in_group;
    int luma_pairs, pairs_in_group;           /* pairs of the luma come first */
    int mcu_rows, mcus_in_row, group_height;  /* of the picture; height in pixels */
    int first_group, groups_end;              /* those in which the window lies */
    int rows_share_colours;                   /* two rows each */
    uint8_t *luma, *colours;                  /* samples of those groups */
    ptrdiff_t luma_stride, colours_stride;
} Plan;

/* Fill in all behind the header, the number of channels, the window, `half` and `to_the_end`. Returns 0 where the
 * window does not lie in the picture, a Huffman table is none, nothing is known of such a scale, or memory is short. */
int make_plan(Plan *plan, JpegDecoder *decoder);

#endif
