/* A disk that fails: reads of files in $FAILING_FOLDER that are called after a kind of failure, such as EIO.h5, fail in
 * that way, for all processes of a test together, $FAILING_READS times for each file; then they succeed. For each kind
 * a file in $FAILING_TALLIES has a size that counts its failures.
 *
 * The kinds: EIO, ESTALE, SHORT (half of what was asked for), NONE (0 bytes), STAT (ESTALE from stat, and not from
 * reads). Preloaded into a process, it answers for the C library, so HDF5's reads fail like Python's. */
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

static const char *const KINDS[] = {"EIO", "ESTALE", "SHORT", "NONE", "STAT", NULL};

/* Returns how reads of a file fail, NULL for one that is on another disk. */
static const char *kind_of(const char *path) {
    const char *folder = getenv("FAILING_FOLDER"), *name = path ? strrchr(path, '/') : NULL;
    if (!folder || !name || strlen(folder) != (size_t)(name - path) || strncmp(path, folder, name - path)) return NULL;
    for (const char *const *kind = KINDS; *kind; kind++) {
        size_t length = strlen(*kind);
        if (!strncmp(name + 1, *kind, length) && !strcmp(name + 1 + length, ".h5")) return *kind;
    }
    return NULL;
}

static const char *kind_behind(int descriptor) {
    char link[64], path[4096];
    ssize_t length;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    length = readlink(link, path, sizeof path - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    return kind_of(path);
}

static int concerns(int descriptor) { return kind_behind(descriptor) != NULL; }

/* Tells whether this read shall fail. */
static int takes_turn(const char *kind) {
    const char *count = getenv("FAILING_READS"), *tallies = getenv("FAILING_TALLIES");
    char tally[4096];
    struct stat before;
    int counter, answer = 0;
    if (!count || !tallies) return 0;
    snprintf(tally, sizeof tally, "%s/%s", tallies, kind);
    counter = open(tally, O_APPEND | O_WRONLY | O_CLOEXEC);
    if (counter < 0) return 0;
    if (fstat(counter, &before) == 0 && before.st_size < atol(count)) answer = write(counter, "x", 1) == 1;
    close(counter);
    return answer;
}

static int is(const char *kind, const char *other) { return strcmp(kind, other) == 0; }

/* Returns how this read fails, NULL when it does not. */
static const char *failure_of(int descriptor) {
    const char *kind = kind_behind(descriptor);
    return kind && !is(kind, "STAT") && takes_turn(kind) ? kind : NULL;
}

static ssize_t failed(const char *kind) {
    errno = is(kind, "ESTALE") ? ESTALE : EIO;
    return -1;
}

#include "../support/own_reads.h" /* here, since it asks `concerns` */

ssize_t pread64(int descriptor, void *memory, size_t count, off64_t offset) {
    static ssize_t (*real)(int, void *, size_t, off64_t);
    if (!real) real = dlsym(RTLD_NEXT, "pread64");
    const char *kind = failure_of(descriptor);
    if (!kind) return real(descriptor, memory, count, offset);
    if (is(kind, "NONE")) return 0;
    if (is(kind, "SHORT")) return real(descriptor, memory, count > 1 ? count / 2 : 1, offset);
    return failed(kind);
}

ssize_t preadv64v2(int descriptor, const struct iovec *pieces, int number, off64_t offset, int flags) {
    static ssize_t (*real)(int, const struct iovec *, int, off64_t, int);
    if (!real) real = dlsym(RTLD_NEXT, "preadv64v2");
    if ((flags & RWF_NOWAIT) && concerns(descriptor)) { /* nothing of it is ever in memory */
        errno = EAGAIN;
        return -1;
    }
    const char *kind = failure_of(descriptor);
    if (!kind) return real(descriptor, pieces, number, offset, flags);
    if (is(kind, "NONE")) return 0;
    if (is(kind, "SHORT")) {
        struct iovec half = pieces[0];
        half.iov_len = half.iov_len > 1 ? half.iov_len / 2 : 1;
        return real(descriptor, &half, 1, offset, flags);
    }
    return failed(kind);
}

int stat64(const char *restrict path, struct stat64 *restrict found) {
    static int (*real)(const char *, struct stat64 *);
    if (!real) real = dlsym(RTLD_NEXT, "stat64");
    const char *kind = kind_of(path);
    if (!kind || !is(kind, "STAT") || !takes_turn(kind)) return real(path, found);
    errno = ESTALE;
    return -1;
}

int stat(const char *restrict path, struct stat *restrict found) { return stat64(path, (struct stat64 *)found); }
