/* Tells which pieces of a file the kernel has in memory, so that they can be read without waiting for a disk. */

#define _GNU_SOURCE
#include <stdint.h>
#include <sys/uio.h>

#include "exports.h"
#include "pieces.h"

/* Between bytes that are looked for: the kernel reads about that much at once. */
#define LOOK_EVERY_BYTES (256 << 10)

static int has_byte(int descriptor, int64_t place) {
#ifdef RWF_NOWAIT
    char byte;
    struct iovec room = {&byte, 1};
    return preadv2(descriptor, &room, 1, (off_t)place, RWF_NOWAIT) == 1;
#else
    (void)descriptor, (void)place;
    return 0;
#endif
}

/* Returns how many of the first pieces are in memory, as far as the last byte of each and some before it say. */
NATIVE_EXPORT int64_t native_in_memory(int64_t descriptor, const struct piece *pieces, int64_t count) {
    int64_t number, place;
    for (number = 0; number < count; number++) {
        place = pieces[number].from + pieces[number].length - 1;
        for (; place >= pieces[number].from; place -= LOOK_EVERY_BYTES)
            if (!has_byte((int)descriptor, place)) return number;
    }
    return count;
}
