/* When slices end: two busy threads on each of two CPUs; for each thread, of its slices from the 6th to the 20th,
 * when each ended within 4 ms, and how long it was, ms.
 * cc -O2 tick.c -o tick -pthread */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { MOST = 1000 };
static long ended[4][MOST], lasted[4][MOST];
static int count[4];

static long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void *busy(void *argument)
{
    long me = (long)argument;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(me / 2, &set);
    sched_setaffinity(0, sizeof set, &set);
    long begin = now(), last = begin, since = begin;
    while (last - begin < 1000000000) {
        long time = now();
        if (time - last > 200000) {
            if (count[me] < MOST) {
                ended[me][count[me]] = last;
                lasted[me][count[me]++] = last - since;
            }
            since = time;
        }
        last = time;
    }
    return NULL;
}

int main(void)
{
    pthread_t all[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&all[i], NULL, busy, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    for (int i = 0; i < 4; i++) {
        printf("thread %d on CPU %d, %d slices:", i, i / 2, count[i]);
        for (int k = 5; k < count[i] && k < 20; k++)
            printf(" %.2f(%.2f)", ended[i][k] % 4000000 / 1e6, lasted[i][k] / 1e6);
        printf("\n");
    }
    return 0;
}
