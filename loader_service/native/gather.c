/* Copies pieces of a mapped file. A file that was cut off, or a disk that fails, costs the call and not the process. */

#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "copy.h"
#include "exports.h"
#include "pieces.h"

/* Pieces that are shorter, or altogether less, stay in the processor's cache, where the next reader finds them. */
#define LONG_BYTES 4096
#define LARGE_BYTES (1 << 20)

/* Bytes of the next piece that are asked for while a short one is copied. */
#define AHEAD_BYTES 512

/* A file in memory: where it begins, how much of it is mapped, and a descriptor of it. */
struct mapped_file {
    const char *memory;
    int64_t length;
    int64_t descriptor;
};

static const struct mapped_file *volatile guarded; /* the file that `guard_thread` copies from */
static pthread_t guard_thread;
static sigjmp_buf way_out;
static struct sigaction before;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;

static void bus_error(int number, siginfo_t *what, void *context) {
    const struct mapped_file *file = guarded;
    const char *place = what->si_addr;
    if (file && pthread_equal(pthread_self(), guard_thread) && place >= file->memory &&
        place < file->memory + file->length)
        siglongjmp(way_out, 1);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, what, context);
    else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else
        sigaction(SIGBUS, &before, NULL); /* it happens again, and ends the process as it would have */
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns whether all pieces lie in what the file has now: beyond its end, a page is partly zeros and no error. */
static int is_long_enough(const struct mapped_file *file, const struct piece *pieces, int64_t count) {
    struct stat status;
    int64_t number;
    if (fstat((int)file->descriptor, &status)) return 0;
    for (number = 0; number < count; number++)
        if (pieces[number].from + pieces[number].length > status.st_size) return 0;
    return 1;
}

/* Returns where a piece lies in memory, NULL where it does not lie in the file. */
static const char *place_of(const struct mapped_file *file, const struct piece *piece) {
    if (piece->from < 0 || piece->length < 0 || piece->from > file->length - piece->length) return NULL;
    return file->memory + piece->from;
}

static void copy_piece(char *out, const char *from, int64_t length, const char *next, int is_large) {
    if (is_large && length >= LONG_BYTES) {
        copy_past_cache(out, from, (size_t)length, next);
        return;
    }
    if (next)
        for (int byte = 0; byte < AHEAD_BYTES; byte += 64) __builtin_prefetch(next + byte);
    memcpy(out, from, (size_t)length);
}

static int are_large(const struct piece *pieces, int64_t count) {
    int64_t bytes = 0, number;
    for (number = 0; number < count && bytes < LARGE_BYTES; number++) bytes += pieces[number].length;
    return bytes >= LARGE_BYTES;
}

/* Copies pieces in order; returns how many were copied whole. It ends before the first that cannot be read, or does
 * not lie in the file, and after one that took longer than `slow_s`: who called it may know a better way then. One
 * thread of a process at a time copies; another one is told 0. */
NATIVE_EXPORT int64_t native_gather(
    const struct mapped_file *file, const struct piece *pieces, int64_t count, char *out, double slow_s) {
    struct sigaction guard = {.sa_sigaction = bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    volatile int64_t done = 0;
    double began = seconds(), now;
    int is_large = are_large(pieces, count);
    if (atomic_flag_test_and_set(&is_busy)) return 0;
    if (sigaction(SIGBUS, &guard, &before)) {
        atomic_flag_clear(&is_busy);
        return 0;
    }
    guard_thread = pthread_self();
    guarded = file;
    if (!sigsetjmp(way_out, 0)) {
        while (done < count) {
            const char *from = place_of(file, &pieces[done]);
            if (!from) break;
            copy_piece(
                out + pieces[done].to, from, pieces[done].length,
                done + 1 < count ? place_of(file, &pieces[done + 1]) : NULL, is_large);
            done = done + 1;
            now = seconds();
            if (now - began > slow_s) break;
            began = now;
        }
    }
    end_copies();
    guarded = NULL;
    sigaction(SIGBUS, &before, NULL);
    atomic_flag_clear(&is_busy);
    return is_long_enough(file, pieces, done) ? done : 0;
}
