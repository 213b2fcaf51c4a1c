/* Moves the wall clock of one process: preloaded, with the file of tests/harness/src/clock.rs.
 *
 * The file holds two 64-bit integers: milliseconds that are added to the time of the system, and
 * milliseconds by which each reading moves the clock of this process on. It is shared memory, so a
 * test moves the clock of a running server. The monotonic clock never moves, as on a machine whose
 * time is set.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;
static _Atomic int64_t moved;

__attribute__((constructor)) static void map_file(void) {
    const char *path = getenv("BLOOMLINE_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    if (file < 0) return;
    void *memory = mmap(NULL, 2 * sizeof(*ahead), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED) ahead = memory;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        int64_t millis = ahead[0] + (moved += ahead[1]);
        int64_t nanos = time->tv_nsec + millis % 1000 * 1000000;
        int64_t carry = nanos < 0 ? -1 : nanos / 1000000000;
        time->tv_sec += millis / 1000 + carry;
        time->tv_nsec = nanos - carry * 1000000000;
    }
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
