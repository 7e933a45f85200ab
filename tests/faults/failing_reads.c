/* A disk that fails: reads of files whose path holds $FAILING_PATH fail as $FAILING_READS says, for all processes of a
 * test together, COUNT times; then they succeed. $FAILING_TALLY is a file whose size counts the failures.
 *
 * FAILING_READS is KIND:COUNT, KIND one of EIO, ESTALE, SHORT (half of what was asked for), NONE (0 bytes),
 * STAT (ESTALE from stat, and not from reads).
 * Preloaded into a process, it answers for the C library, so HDF5's reads fail like Python's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int names(const char *path) {
    const char *part = getenv("FAILING_PATH");
    return part && path && strstr(path, part) != NULL;
}

static int concerns(int descriptor) {
    char link[64], path[4096];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return names(path);
}

/* Tells whether this read shall fail. */
static int takes_turn(void) {
    const char *how = getenv("FAILING_READS"), *tally = getenv("FAILING_TALLY");
    const char *colon = how ? strchr(how, ':') : NULL;
    struct stat before;
    int counter, answer = 0;
    if (!colon || !tally) return 0;
    counter = open(tally, O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
    if (counter < 0) return 0;
    if (fstat(counter, &before) == 0 && before.st_size < atol(colon + 1)) answer = write(counter, "x", 1) == 1;
    close(counter);
    return answer;
}

static int is(const char *kind) { return strncmp(getenv("FAILING_READS"), kind, strlen(kind)) == 0; }

static int fails(int descriptor) { return getenv("FAILING_READS") && !is("STAT") && concerns(descriptor) && takes_turn(); }

static ssize_t failure(void) {
    errno = is("ESTALE") ? ESTALE : EIO;
    return -1;
}

#include "../support/own_reads.h" /* here, since it asks `concerns` */

ssize_t pread64(int descriptor, void *memory, size_t count, off64_t offset) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread64");
    if (!fails(descriptor)) return real(descriptor, memory, count, offset);
    if (is("NONE")) return 0;
    if (is("SHORT")) return real(descriptor, memory, count > 1 ? count / 2 : 1, offset);
    return failure();
}

ssize_t preadv64v2(int descriptor, const struct iovec *pieces, int number, off64_t offset, int flags) {
    static ssize_t (*real)(int, const struct iovec *, int, off64_t, int);
    if (!real) real = dlsym(RTLD_NEXT, "preadv64v2");
    if ((flags & RWF_NOWAIT) && concerns(descriptor)) { /* nothing of it is ever in memory */
        errno = EAGAIN;
        return -1;
    }
    if (!fails(descriptor)) return real(descriptor, pieces, number, offset, flags);
    if (is("NONE")) return 0;
    if (is("SHORT")) {
        struct iovec half = pieces[0];
        half.iov_len = half.iov_len > 1 ? half.iov_len / 2 : 1;
        return real(descriptor, &half, 1, offset, flags);
    }
    return failure();
}

int stat64(const char *restrict path, struct stat64 *restrict found) {
    static int (*real)(const char *, struct stat64 *);
    if (!real) real = dlsym(RTLD_NEXT, "stat64");
    if (!getenv("FAILING_READS") || !is("STAT") || !names(path) || !takes_turn()) return real(path, found);
    errno = ESTALE;
    return -1;
}

int stat(const char *restrict path, struct stat *restrict found) { return stat64(path, (struct stat64 *)found); }
