/* Where a woken thread runs: threads that are not pinned hand a word around by futex; each hand-over says on which CPU
 * the waker and the woken were. place THREADS: hand-overs, how many stay on the CPU, how long each kind takes.
 * cc -O2 place.c -o place -pthread */
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

#define APART __attribute__((aligned(128)))
struct seat { _Atomic unsigned turn APART; };
static struct seat seats[64];
static int threads;
static long stay_ns;
static _Atomic int over;
static long begun APART;
static int waker_cpu, waker_id, last_cpu[64];
static long count[2][2], sum[2][2], stayed_home[2];

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *member(void *argument)
{
    long me = (long)argument;
    for (;;) {
        while (!seats[me].turn)
            syscall(SYS_futex, &seats[me].turn, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
        long here = now();
        int cpu = sched_getcpu();
        if (over)
            return NULL;
        int same = cpu == waker_cpu, prev = last_cpu[me] == waker_cpu;
        count[prev][same]++;
        sum[prev][same] += here - begun;
        last_cpu[me] = cpu;
        seats[me].turn = 0;
        while (now() < here + stay_ns)
            ;
        waker_cpu = sched_getcpu();
        begun = now();
        long next = (me + 1) % threads;
        seats[next].turn = 1;
        syscall(SYS_futex, &seats[next].turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    pthread_t all[64];
    threads = argc > 1 ? atoi(argv[1]) : 8;
    stay_ns = argc > 2 ? atol(argv[2]) : 50;
    for (long i = 0; i < threads; i++)
        pthread_create(&all[i], NULL, member, (void *)i);
    usleep(10000);
    begun = now();
    seats[0].turn = 1;
    syscall(SYS_futex, &seats[0].turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    sleep(2);
    over = 1;
    for (int i = 0; i < threads; i++) {
        seats[i].turn = 1;
        syscall(SYS_futex, &seats[i].turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    for (int prev = 0; prev < 2; prev++)
        for (int same = 0; same < 2; same++)
            printf("%d threads, %ld ns: woken %s CPU before, now %s: %ld, %.1f us each\n", threads, stay_ns,
                   prev ? "on waker's" : "on other", same ? "on waker's" : "on other", count[prev][same],
                   count[prev][same] ? sum[prev][same] / 1e3 / count[prev][same] : 0.0);
    fflush(stdout);
    _exit(0);
}
