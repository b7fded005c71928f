/* Threads that take a lock for so long and stay outside for so long: loop KIND SECTION_NS OUTSIDE_NS THREADS ROUNDS.
 * KIND 0: mutex; 1: writers of a readers-writer lock; 2: readers; 3: one of four writes. Prints rates and sleeps.
 * cc -O2 loop.c -o loop -pthread */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int kind, section_ns, outside_ns;
static long rounds;
static double loops_per_ns;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static void work(int loops)
{
    for (volatile int i = 0; i < loops; i++)
        ;
}

static void *run(void *number)
{
    unsigned long seed = (long)number * 7919 + 1;
    int section = section_ns * loops_per_ns, outside = outside_ns * loops_per_ns;
    for (long i = 0; i < rounds; i++) {
        seed = seed * 6364136223846793005ul + 1;
        int reads = kind == 2 || (kind == 3 && (seed >> 60 & 3) != 0);
        if (kind == 0)
            pthread_mutex_lock(&mutex);
        else if (reads)
            pthread_rwlock_rdlock(&rwlock);
        else
            pthread_rwlock_wrlock(&rwlock);
        work(section);
        if (kind == 0)
            pthread_mutex_unlock(&mutex);
        else
            pthread_rwlock_unlock(&rwlock);
        work(outside);
    }
    return NULL;
}

static double cpu(const struct rusage *used)
{
    return used->ru_utime.tv_sec + used->ru_stime.tv_sec + 1e-6 * (used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

int main(int count, char **arguments)
{
    if (count != 6)
        return fputs("loop KIND SECTION_NS OUTSIDE_NS THREADS ROUNDS\n", stderr), 2;
    kind = atoi(arguments[1]), section_ns = atoi(arguments[2]), outside_ns = atoi(arguments[3]);
    int threads = atoi(arguments[4]);
    rounds = atol(arguments[5]);
    double begin = now();
    work(10000000);
    loops_per_ns = 10000000 / ((now() - begin) * 1e9);
    struct rusage before, after;
    pthread_t handles[64];
    if (threads < 1 || threads > 64)
        return fputs("loop: 1 to 64 threads\n", stderr), 2;
    getrusage(RUSAGE_SELF, &before);
    begin = now();
    for (long i = 0; i < threads; i++)
        pthread_create(&handles[i], NULL, run, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    double took = now() - begin, all = (double)rounds * threads;
    getrusage(RUSAGE_SELF, &after);
    printf("kind %d, %d ns, %d ns, %d threads: %.0f k/s, %.2f%% slept, %.3f%% lost their CPU, %.2f CPUs busy\n", kind,
           section_ns, outside_ns, threads, all / took / 1e3, 100 * (after.ru_nvcsw - before.ru_nvcsw) / all,
           100 * (after.ru_nivcsw - before.ru_nivcsw) / all, (cpu(&after) - cpu(&before)) / took);
    return 0;
}
