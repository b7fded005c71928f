/* A thread on CPU 1 sleeps on a futex; one on CPU 0 wakes it so long after the call that sleeps: wakes [NS...].
 * Of 2000 each (200 from 50 us on), in batches of 100 as they come: the waker's call, and from its beginning until the
 * sleeper is back, us. The first batches differ from the later ones. Needs an invariant time-stamp counter.
 * cc -O2 wakes.c -o wakes -pthread */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define APART __attribute__((aligned(128)))
static _Atomic unsigned word APART;
static _Atomic unsigned long asked APART, woke APART, called, returned;
static _Atomic long delay APART;
static _Atomic int over;

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *waker(void *none)
{
    pin(0);
    for (unsigned long last = 0;;) {
        unsigned long now;
        while ((now = asked) == last)
            if (over)
                return none;
        last = now;
        while (__rdtsc() < now + delay)
            ;
        called = __rdtsc();
        word = 0;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        returned = __rdtsc();
        woke = last;
    }
}

static double ticks_per_ns(void)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    unsigned long ticks = __rdtsc();
    usleep(100000);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (__rdtsc() - ticks) / ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec));
}

static void sleep_for(long ns, double rate)
{
    int all = ns >= 50000 ? 200 : 2000;
    double call = 0, back = 0;
    delay = ns * rate;
    printf("%6ld ns:", ns);
    for (int i = 1; i <= all; i++) {
        word = 1;
        unsigned long now = __rdtsc();
        asked = now;
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
        unsigned long end = __rdtsc();
        while (woke != now)
            ;
        call += (returned - called) / rate;
        back += ((double)end - called) / rate;
        if (i % 100 == 0) {
            printf(" %.1f/%.0f", call / 1e5, back / 1e5);
            call = back = 0;
        }
    }
    printf("\n");
}

int main(int count, char **arguments)
{
    static const long usual[] = {600, 1000, 1500, 2500, 5000, 7000, 10000, 20000, 50000, 100000, 300000};
    double rate = ticks_per_ns();
    pthread_t other;
    pin(1);
    pthread_create(&other, NULL, waker, NULL);
    usleep(1000);
    for (int i = 1; i < count; i++)
        sleep_for(atol(arguments[i]), rate);
    for (unsigned i = 0; count == 1 && i < sizeof usual / sizeof *usual; i++)
        sleep_for(usual[i], rate);
    over = 1;
    pthread_join(other, NULL);
    return 0;
}
