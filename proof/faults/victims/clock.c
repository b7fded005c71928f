/* The wall clock as this process sees it, stepped to and fro. It takes the C library's place in front of two functions:
   whoever asks for the time is told a stepped one, and a futex wait until a time of the wall clock ends when that one
   gets there. The machine's own clock stays. Such a wait is interrupted (EINTR) every millisecond, as by a signal: a
   step must not wait for it. */
#include "deeds.h"
#include <linux/futex.h>
#include <stdarg.h>

enum { SLICE_NS = 1000000, SECOND_NS = 1000000000 };

static _Atomic int64_t ahead_ns; /* of the machine's clock */

/* A system call as the kernel answers it. */
static long kernel(long number, const long a[6])
{
    long answer;
    register long r10 __asm__("r10") = a[3];
    register long r8 __asm__("r8") = a[4];
    register long r9 __asm__("r9") = a[5];
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return answer;
}

static int64_t machine_ns(clockid_t clock)
{
    struct timespec t;
    kernel(SYS_clock_gettime, (long[6]){clock, (long)&t});
    return (int64_t)t.tv_sec * SECOND_NS + t.tv_nsec;
}

static struct timespec time_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};
}

static long answered(long answer)
{
    if (answer >= 0 || answer < -4095)
        return answer;
    errno = (int)-answer;
    return -1;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (clock != CLOCK_REALTIME)
        return (int)answered(kernel(SYS_clock_gettime, (long[6]){clock, (long)t}));
    *t = time_of(machine_ns(clock) + atomic_load(&ahead_ns));
    return 0;
}

/* A wait until a time of the stepped clock: for a slice, or until then. */
static long wait_until(long a[6])
{
    const struct timespec *until = (const struct timespec *)a[3];
    int64_t at = (int64_t)until->tv_sec * SECOND_NS + until->tv_nsec;
    int64_t left = at - machine_ns(CLOCK_REALTIME) - atomic_load(&ahead_ns);
    int64_t slice = left < 0 ? 0 : left > SLICE_NS ? SLICE_NS : left;
    struct timespec end = time_of(machine_ns(CLOCK_MONOTONIC) + slice);
    a[1] &= ~FUTEX_CLOCK_REALTIME;
    a[3] = (long)&end;
    long answer = kernel(SYS_futex, a);
    int early = machine_ns(CLOCK_REALTIME) + atomic_load(&ahead_ns) < at;
    return answer == -ETIMEDOUT && early ? -EINTR : answer;
}

long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    int operation = (int)a[1] & ~FUTEX_PRIVATE_FLAG;
    if (number == SYS_futex && operation == (FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME) && a[3])
        return answered(wait_until(a));
    return answered(kernel(number, a));
}

/* Steps: by an hour, so that all waits are over or far from it, or by about as much as they have left. */
void step_clock(void)
{
    static const int64_t steps[] = {3600LL * SECOND_NS, -3600LL * SECOND_NS, 200000, -200000, 5000000, -5000000};
    uint32_t seed = 4711;
    while (going()) {
        nap_us(chance(&seed) % 2000);
        int64_t step = steps[chance(&seed) % 6];
        /* Around the time that it is: at most some hours off. */
        if (atomic_load(&ahead_ns) * (step < 0 ? -1 : 1) < 3 * 3600LL * SECOND_NS) {
            atomic_fetch_add(&board->states[CLOCK_STEPS], 1);
            atomic_fetch_add(&ahead_ns, step);
            atomic_fetch_add(&board->states[CLOCK_STEPS], 1);
            atomic_fetch_add(&board->tries, 1);
        }
    }
}
