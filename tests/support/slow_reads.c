/* A disk with a latency: each read of a file whose path holds $SLOW_PATH takes $SLOW_READ_MS longer, however many are
 * under way at a time, and nothing of it is in memory. Without a latency all is as if this were not there. Preloaded into
 * a process, it answers for the C library, so HDF5's reads are slow like Python's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static double milliseconds(void) {
    const char *how_long = getenv("SLOW_READ_MS");
    return how_long ? atof(how_long) : 0;
}

static int concerns(int descriptor) {
    const char *part = getenv("SLOW_PATH");
    char link[64], path[4096];
    ssize_t length;
    if (!part || milliseconds() <= 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strstr(path, part) != NULL;
}

static void wait_for(int descriptor) {
    const double latency = milliseconds();
    struct timespec pause = {(time_t)(latency / 1000), 0};
    if (!concerns(descriptor)) return;
    pause.tv_nsec = (long)((latency - 1000.0 * (double)pause.tv_sec) * 1e6);
    nanosleep(&pause, NULL);
}

#include "own_reads.h" /* here, since it asks `concerns` */

ssize_t pread64(int descriptor, void *memory, size_t count, off64_t offset) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread64");
    wait_for(descriptor);
    return real(descriptor, memory, count, offset);
}

ssize_t preadv64v2(int descriptor, const struct iovec *pieces, int number, off64_t offset, int flags) {
    static ssize_t (*real)(int, const struct iovec *, int, off64_t, int);
    if (!real) real = dlsym(RTLD_NEXT, "preadv64v2");
    if ((flags & RWF_NOWAIT) && concerns(descriptor)) { /* nothing of it is ever in memory */
        errno = EAGAIN;
        return -1;
    }
    wait_for(descriptor);
    return real(descriptor, pieces, number, offset, flags);
}
