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

#include "exports.h"

/* Bytes of the next piece that are asked for while one is copied: the processor foresees the rest itself. */
#define AHEAD_BYTES 512

/* One piece of a file: where it lies there, where it goes, and how long it is, in bytes. */
struct piece {
    int64_t from, to, length;
};

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

/* Copies pieces in order; returns how many were copied whole. It ends before the first that cannot be read, or does
 * not lie in the file, and after one that took longer than `slow_s`: who called it may know a better way then. One
 * thread of a process at a time copies; another one is told 0. */
NATIVE_EXPORT int64_t native_gather(
    const struct mapped_file *file, const struct piece *pieces, int64_t count, char *out, double slow_s) {
    struct sigaction guard = {.sa_sigaction = bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    volatile int64_t done = 0;
    double began = seconds(), now;
    if (atomic_flag_test_and_set(&is_busy)) return 0;
    if (sigaction(SIGBUS, &guard, &before)) {
        atomic_flag_clear(&is_busy);
        return 0;
    }
    guard_thread = pthread_self();
    guarded = file;
    if (!sigsetjmp(way_out, 0)) {
        while (done < count) {
            const struct piece *piece = &pieces[done];
            if (piece->from < 0 || piece->length < 0 || piece->from > file->length - piece->length) break;
            if (done + 1 < count && piece[1].from >= 0 && piece[1].from < file->length - AHEAD_BYTES)
                for (int byte = 0; byte < AHEAD_BYTES; byte += 64)
                    __builtin_prefetch(file->memory + piece[1].from + byte);
            memcpy(out + piece->to, file->memory + piece->from, (size_t)piece->length);
            done = done + 1;
            now = seconds();
            if (now - began > slow_s) break;
            began = now;
        }
    }
    guarded = NULL;
    sigaction(SIGBUS, &before, NULL);
    atomic_flag_clear(&is_busy);
    return is_long_enough(file, pieces, done) ? done : 0;
}
