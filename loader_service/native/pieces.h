/* Pieces of a file, as Python lists them. */

#ifndef LOADER_NATIVE_PIECES_H
#define LOADER_NATIVE_PIECES_H

#include <stdint.h>

/* One piece of a file: where it lies there, where it goes, and how long it is, in bytes. */
struct piece {
    int64_t from, to, length;
};

#endif
