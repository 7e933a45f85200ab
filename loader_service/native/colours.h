/* Makes pixels of samples: subsampled colours are repeated, YCbCr becomes RGB, as libjpeg-turbo does it. */

#ifndef LOADER_NATIVE_COLOURS_H
#define LOADER_NATIVE_COLOURS_H

#include <stdint.h>

/* What pixels are made of. */
typedef enum {
    HALF_COLOURS,  /* a pair of colours for two pixels side by side */
    WHOLE_COLOURS, /* for each pixel */
    NO_COLOURS     /* none: grey */
} Colouring;

typedef struct {
    Colouring colouring;
    int channels; /* 3, or 1: the luma alone */
    int swapped;  /* whether blue comes first */
} PixelForm;

/* One row of samples, from a multiple of 16 pixels on, with room to read to the next multiple of 32.
 * `colours`: 8 samples of Cb, 8 of Cr, and so on. */
typedef struct {
    const uint8_t *luma, *colours;
} SampleRow;

/* Write `width` pixels of a row, without the first `skipped` (0 to 15). */
void write_pixels(const PixelForm *form, SampleRow row, int skipped, int width, uint8_t *pixels);

/* The same for two rows that share their colours; `row` is the upper one. */
void write_two_rows(const PixelForm *form, SampleRow row, const uint8_t *lower_luma, int skipped, int width,
                    uint8_t *pixels, uint8_t *lower_pixels);

#endif
