/* CPU time for each section behind few or many locks, each of which a thread takes by lot.
 * Build: cc -O2 -pthread -o many many.c
 * Run:   LD_PRELOAD=libturnwise_preload.so ./many LOCKS THREADS SECTION_US MS
 * A section sleeps for SECTION_US; below 0 it computes for as long instead. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <time.h>

static pthread_mutex_t m[4096]; /* zero bytes: unlocked */
static volatile int stop;
static long acq;
static int L, us;

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void section(void)
{
    if (us > 0) {
        usleep(us);
        return;
    }
    for (long begin = now_ns(); now_ns() - begin < -us * 1000L;)
        ;
}

static void *worker(void *u)
{
    unsigned x = (long)u * 7919 + 1;
    long n = 0;
    while (!stop) {
        x = x * 1664525 + 1013904223;
        pthread_mutex_t *l = &m[(x >> 8) % L];
        pthread_mutex_lock(l);
        section();
        pthread_mutex_unlock(l);
        n++;
    }
    __atomic_add_fetch(&acq, n, __ATOMIC_SEQ_CST);
    return u;
}

int main(int c, char **v)
{
    if (c < 5 || (L = atoi(v[1])) < 1 || L > 4096 || atoi(v[2]) > 256) {
        fprintf(stderr, "usage: %s LOCKS(1..4096) THREADS(..256) SECTION_US MS\n", v[0]);
        return 2;
    }
    int T = atoi(v[2]);
    us = atoi(v[3]);
    pthread_t t[256];
    for (long i = 0; i < T; i++)
        pthread_create(&t[i], 0, worker, (void *)i);
    usleep(atoi(v[4]) * 1000);
    stop = 1;
    for (int i = 0; i < T; i++)
        pthread_join(t[i], 0);
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    double cpu = r.ru_utime.tv_sec + r.ru_utime.tv_usec / 1e6 + r.ru_stime.tv_sec + r.ru_stime.tv_usec / 1e6;
    printf("locks %4d threads %3d: sections %6ld, cpu %.3f s, %.1f us of CPU each, switches %ld\n", L, T, acq, cpu,
           cpu * 1e6 / acq, r.ru_nvcsw);
    return 0;
}
