/* Whether a thread that is woken on a busy CPU moves to an idle one: seen IDLE_NS BUSY_NS. The waker, on CPU 0,
 * spins for IDLE_NS, wakes the sleeper, which slept on CPU 0 and may run on both, and spins for BUSY_NS; 300 times.
 * cc -O2 seen.c -o seen -pthread */
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

enum { ROUNDS = 300 };
static _Atomic unsigned word, sleeps, done;
static _Atomic long begun, took;
static _Atomic int ran;

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void spin(long ns)
{
    long end = now() + ns;
    while (now() < end)
        ;
}

static void keep_to(int cpus)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int cpu = 0; cpu < 2; cpu++)
        if (cpus >> cpu & 1)
            CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *sleeper(void *none)
{
    for (unsigned round = 1; round <= ROUNDS; round++) {
        keep_to(1);
        keep_to(3);
        sleeps = round;
        while (word != round)
            syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, round - 1, NULL, NULL, 0);
        took = now() - begun;
        ran = sched_getcpu();
        done = round;
    }
    return none;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    pthread_t other;
    long all[2] = {0}, sum[2] = {0};
    keep_to(1);
    pthread_create(&other, NULL, sleeper, NULL);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        while (sleeps < round)
            sched_yield();
        for (int i = 0; i < 3; i++)
            sched_yield();
        spin(atol(argv[1]));
        begun = now();
        word = round;
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
        spin(atol(argv[2]));
        while (done < round)
            sched_yield();
        all[ran != 0]++;
        sum[ran != 0] += took;
    }
    for (int moved = 0; moved < 2; moved++)
        printf("%s: %ld, %.1f us each\n", moved ? "moved" : "stayed", all[moved],
               all[moved] ? sum[moved] / 1e3 / all[moved] : 0.0);
    return 0;
}
