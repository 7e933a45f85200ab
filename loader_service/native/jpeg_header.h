/* What the segments in front of a JPEG's scan say, of a JPEG that is a plain one. Knows no table's meaning. */

#ifndef LOADER_NATIVE_JPEG_HEADER_H
#define LOADER_NATIVE_JPEG_HEADER_H

#include <stddef.h>
#include <stdint.h>

#define MAX_COMPONENTS 3
#define TABLES_OF_A_KIND 4

/* A Huffman table as it is written: how many codes there are of 1 to 16 bits, then what they stand for. */
typedef struct {
    const uint8_t *bytes; /* NULL where the JPEG has no such table */
    int size;             /* 16 and the number of codes */
} WrittenTable;

typedef struct {
    int height, width;          /* in pixels, above 0 */
    int components;             /* 1 (grey) or 3 */
    int across, down;           /* samples of the luma for one of the colours: 1x1, 2x1 or 2x2 */
    int restart_interval;       /* in MCUs; 0 without markers */
    int says_restart_interval;  /* whether any segment says one, though a later one may take it back */
    const uint8_t *quantisation[MAX_COMPONENTS]; /* 64 steps, in zigzag order */
    int dc_table[MAX_COMPONENTS], ac_table[MAX_COMPONENTS];
    WrittenTable dc[TABLES_OF_A_KIND], ac[TABLES_OF_A_KIND];
    size_t scan_segment_at;     /* where the segment that begins the scan lies, in bytes from the beginning */
    size_t scan_at;             /* where the scan's data begin */
} JpegHeader;

/* Returns 1 and fills the header in, or returns 0 where anything is not plain: another codec decides then. */
int read_jpeg_header(const uint8_t *data, size_t size, JpegHeader *header);

#endif
