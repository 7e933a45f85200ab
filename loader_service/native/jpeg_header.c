/* Reads the segments in front of a JPEG's scan, and takes nothing that libjpeg would treat specially or warn of.
 *
 * References: ITU-T T.81, annex B (segments) and F.1.1 (sequential DCT); T.871 (JFIF); for the colours that an Adobe
 * segment means, libjpeg's own rules: `default_decompress_parms`.
 */

#include "jpeg_header.h"

#include <string.h>

enum {
    START_OF_IMAGE = 0xD8,
    BASELINE_FRAME = 0xC0,
    SEQUENTIAL_FRAME = 0xC1,
    HUFFMAN_TABLES = 0xC4,
    START_OF_SCAN = 0xDA,
    QUANTISATION_TABLES = 0xDB,
    RESTART_INTERVAL = 0xDD,
    APPLICATION_0 = 0xE0,
    APPLICATION_14 = 0xEE,
    APPLICATION_15 = 0xEF,
    COMMENT = 0xFE
};

/* Longer sides are an error in libjpeg (JPEG_MAX_DIMENSION). */
#define MAX_SIDE 65500

/* What is collected on the way: the frame header, and quantisation tables by their number. */
typedef struct {
    const uint8_t *quantisation[TABLES_OF_A_KIND];
    const uint8_t *frame; /* the frame segment's content; NULL before it */
} Collected;

static int two_bytes(const uint8_t *at) { return at[0] << 8 | at[1]; }

/* Quantisation tables of 8 bits, any number of them. A step of 0 is in no table that an encoder writes. */
static int read_quantisation(const uint8_t *at, int size, Collected *collected) {
    for (; size > 0; at += 65, size -= 65) {
        if (size < 65 || at[0] >= TABLES_OF_A_KIND || memchr(at + 1, 0, 64)) return 0;
        collected->quantisation[at[0]] = at + 1;
    }
    return 1;
}

static int read_huffman(const uint8_t *at, int size, JpegHeader *header) {
    while (size > 0) {
        if (size < 17 || (at[0] & 15) >= TABLES_OF_A_KIND || at[0] >> 4 > 1) return 0;
        int codes = 0;
        for (int length = 1; length <= 16; length++) codes += at[length];
        if (codes > 256 || size < 17 + codes) return 0;
        WrittenTable *table = (at[0] >> 4 ? header->ac : header->dc) + (at[0] & 15);
        table->bytes = at + 1;
        table->size = 16 + codes;
        at += 17 + codes;
        size -= 17 + codes;
    }
    return 1;
}

static int read_frame(const uint8_t *at, int size, JpegHeader *header, Collected *collected) {
    if (collected->frame || size < 6 || at[0] != 8) return 0; /* samples of 8 bits */
    header->height = two_bytes(at + 1);
    header->width = two_bytes(at + 3);
    header->components = at[5];
    if (!header->height || !header->width || header->height > MAX_SIDE || header->width > MAX_SIDE) return 0;
    if ((at[5] != 1 && at[5] != 3) || size != 6 + 3 * at[5]) return 0;
    const uint8_t *each = at + 6; /* identifier, sampling factors, quantisation table */
    header->across = each[1] >> 4;
    header->down = each[1] & 15;
    collected->frame = at;
    if (at[5] == 1) return each[1] == 0x11;
    if (each[4] != 0x11 || each[7] != 0x11 || (each[1] != 0x11 && each[1] != 0x21 && each[1] != 0x22)) return 0;
    if (each[0] == each[3] || each[0] == each[6] || each[3] == each[6]) return 0;
    return !(each[0] == 'R' && each[3] == 'G' && each[6] == 'B'); /* these are no YCbCr */
}

/* One scan of all components in their order, of all coefficients at full precision. */
static int read_scan(const uint8_t *at, int size, JpegHeader *header, const Collected *collected) {
    const uint8_t *frame = collected->frame;
    int components = header->components;
    if (!frame || size != 4 + 2 * components || at[0] != components) return 0;
    for (int i = 0; i < components; i++) {
        const uint8_t *component = frame + 6 + 3 * i, *tables = at + 1 + 2 * i;
        int dc = tables[1] >> 4, ac = tables[1] & 15;
        if (tables[0] != component[0] || dc >= TABLES_OF_A_KIND || ac >= TABLES_OF_A_KIND) return 0;
        if (component[2] >= TABLES_OF_A_KIND || !collected->quantisation[component[2]]) return 0;
        if (!header->dc[dc].bytes || !header->ac[ac].bytes) return 0;
        header->quantisation[i] = collected->quantisation[component[2]];
        header->dc_table[i] = dc;
        header->ac_table[i] = ac;
    }
    const uint8_t *spectrum = at + 1 + 2 * components;
    return spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
}

/* Whether an application segment leaves colours and version as a plain JPEG has them. */
static int is_plain_application(int marker, const uint8_t *at, int size) {
    if (marker == APPLICATION_0 && size >= 14 && !memcmp(at, "JFIF", 5)) return at[5] == 1;
    if (marker == APPLICATION_14 && size >= 5 && !memcmp(at, "Adobe", 5)) return size >= 12 && at[11] == 1;
    return 1;
}

static int read_segment(int marker, const uint8_t *at, int size, JpegHeader *header, Collected *collected) {
    switch (marker) {
        case QUANTISATION_TABLES:
            return read_quantisation(at, size, collected);
        case HUFFMAN_TABLES:
            return read_huffman(at, size, header);
        case RESTART_INTERVAL:
            if (size != 2) return 0;
            header->restart_interval = two_bytes(at);
            header->says_restart_interval |= header->restart_interval;
            return 1;
        case BASELINE_FRAME:
        case SEQUENTIAL_FRAME:
            return read_frame(at, size, header, collected);
        case START_OF_SCAN:
            return read_scan(at, size, header, collected);
        case COMMENT:
            return 1;
        default:
            return marker >= APPLICATION_0 && marker <= APPLICATION_15 && is_plain_application(marker, at, size);
    }
}

int read_jpeg_header(const uint8_t *data, size_t size, JpegHeader *header) {
    Collected collected = {{0}, 0};
    memset(header, 0, sizeof *header);
    if (size < 4 || data[0] != 0xFF || data[1] != START_OF_IMAGE) return 0;
    for (size_t at = 2; size - at >= 4;) {
        int length = two_bytes(data + at + 2); /* counts its own two bytes */
        if (data[at] != 0xFF || length < 2 || (size_t)length > size - at - 2) return 0;
        if (!read_segment(data[at + 1], data + at + 4, length - 2, header, &collected)) return 0;
        if (data[at + 1] == START_OF_SCAN) {
            header->scan_segment_at = at;
            header->scan_at = at + 2 + (size_t)length;
            return 1;
        }
        at += 2 + (size_t)length;
    }
    return 0;
}
