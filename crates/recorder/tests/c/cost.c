/*
 * What lock and unlock cost: nanoseconds per pair, alone on the lock; the same for locks under one another, where
 * another thread exists; or, with threads, pairs per second on one lock with a short section.
 *
 *     cost pair ROUNDS | cost locks ROUNDS LOCKS | cost under ROUNDS LOCKS | cost shared THREADS MILLISECONDS
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stop;
static volatile uint64_t inside[8];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *worker(void *argument)
{
    uint64_t own = 0;
    volatile uint64_t outside = 0;
    (void)argument;
    while (!stop) {
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < 8; i++)
            inside[i]++;
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < 50; i++)
            outside += (uint64_t)i;
        own++;
    }
    return (void *)(uintptr_t)own;
}

static int shared(int threads, double seconds)
{
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    double begin = now();
    uint64_t sum = 0;
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, worker, NULL);
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
    stop = 1;
    for (int i = 0; i < threads; i++) {
        void *own;
        pthread_join(ids[i], &own);
        sum += (uintptr_t)own;
    }
    printf("%.0f\n", (double)sum / (now() - begin));
    free(ids);
    return 0;
}

static int many(long rounds, long locks)
{
    pthread_mutex_t *all = calloc((size_t)locks, sizeof *all);
    double begin = now();
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_t *one = &all[(uint64_t)i * 7919 % (uint64_t)locks];
        pthread_mutex_lock(one);
        pthread_mutex_unlock(one);
    }
    printf("%.2f\n", (now() - begin) * 1e9 / (double)rounds);
    free(all);
    return 0;
}

static void *idle(void *unused)
{
    while (!stop)
        pause();
    return unused;
}

static int under(long rounds, long locks)
{
    pthread_t id;
    pthread_mutex_t *all = calloc((size_t)locks, sizeof *all);
    pthread_create(&id, NULL, idle, NULL);
    double begin = now();
    for (long i = 0; i < rounds; i++) {
        for (long at = 0; at < locks; at++)
            pthread_mutex_lock(&all[at]);
        for (long at = locks; at-- > 0;)
            pthread_mutex_unlock(&all[at]);
    }
    printf("%.2f\n", (now() - begin) * 1e9 / (double)(rounds * locks));
    free(all);
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "under") == 0)
        return under(atol(arguments[2]), atol(arguments[3]));
    if (count == 4 && strcmp(arguments[1], "shared") == 0)
        return shared(atoi(arguments[2]), atof(arguments[3]) / 1000);
    if (count == 4 && strcmp(arguments[1], "locks") == 0)
        return many(atol(arguments[2]), atol(arguments[3]));
    return many(count == 3 ? atol(arguments[2]) : 1000000, 1);
}
