/* Makes the wall clock of a process wrong by the seconds that the file EVERCRAWL_CLOCK_STEP holds (eight bytes),
 * whenever it is asked for: a clock that steps, for tests. Monotonic clocks stay as they are.
 *   cc -shared -fPIC -O2 -o clock-step.so scripts/clock-step.c -ldl
 *   LD_PRELOAD=./clock-step.so evercrawl fleet demo --fault clock */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int64_t step(void) {
    const char *path = getenv("EVERCRAWL_CLOCK_STEP");
    int64_t seconds = 0;
    if (path) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file >= 0) {
            if (read(file, &seconds, sizeof seconds) != sizeof seconds) seconds = 0;
            close(file);
        }
    }
    return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += step();
    return result;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    static int (*real)(struct timeval *, void *);
    if (!real) real = (int (*)(struct timeval *, void *))dlsym(RTLD_NEXT, "gettimeofday");
    int result = real(now, zone);
    if (result == 0) now->tv_sec += step();
    return result;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
