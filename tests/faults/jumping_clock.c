/* A wall clock that jumps: the time of day is right, a day late, right and a day early, for half a second each.
 *
 * Preloaded into a process, it answers for the C library, so whatever asks, in whichever language, gets that time. All
 * processes of a host jump together, since what they go by is the monotonic clock, which stays as it is. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const long day_s = 86400;

static long jump_s(void) {
    struct timespec monotonic;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &monotonic);
    switch ((2 * monotonic.tv_sec + (monotonic.tv_nsec >= 500000000)) % 4) {
        case 1: return day_s;
        case 3: return -day_s;
        default: return 0;
    }
}

int clock_gettime(clockid_t clock, struct timespec *found) {
    long result = syscall(SYS_clock_gettime, clock, found);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) found->tv_sec += jump_s();
    return (int)result;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
