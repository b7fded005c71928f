/* waits PATTERN THREADS WORK MS: what a wait on a condition variable costs.
 *
 * pingpong: two threads by turns, WORK nanoseconds of computing in each turn.
 * queue:    THREADS/2 threads put into a queue with room for 64, as many take out, WORK nanoseconds in between.
 * pool:     one thread gives a job every WORK nanoseconds, or as soon as it can if 0, to THREADS waiters.
 * tell:     one thread tells THREADS others, and waits until all have heard.
 *
 * Prints nanoseconds for a turn, job or round, and nanoseconds of CPU time for it. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, back = PTHREAD_COND_INITIALIZER;
static atomic_int over;
static long turn, done, filled, heard;
static int threads;
static long work_ns;

static double at(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static void work(long ns)
{
    double end = at(CLOCK_MONOTONIC) + ns;
    while (ns && at(CLOCK_MONOTONIC) < end)
        ;
}

static void *player(void *side)
{
    long me = (long)side;
    pthread_mutex_lock(&mutex);
    while (!over) {
        while (!over && turn % 2 != me)
            pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
        work(work_ns);
        pthread_mutex_lock(&mutex);
        if (over)
            break;
        turn++;
        done++;
        pthread_cond_signal(&changed);
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *producer(void *unused)
{
    (void)unused;
    while (!over) {
        work(work_ns);
        pthread_mutex_lock(&mutex);
        while (!over && filled == 64)
            pthread_cond_wait(&back, &mutex);
        filled++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    pthread_cond_broadcast(&changed);
    return 0;
}

static void *consumer(void *unused)
{
    (void)unused;
    while (!over) {
        pthread_mutex_lock(&mutex);
        while (!over && filled == 0)
            pthread_cond_wait(&changed, &mutex);
        filled--;
        done++;
        pthread_cond_signal(&back);
        pthread_mutex_unlock(&mutex);
        work(work_ns);
    }
    pthread_cond_broadcast(&back);
    return 0;
}

static void *giver(void *unused)
{
    (void)unused;
    while (!over) {
        work(work_ns);
        pthread_mutex_lock(&mutex);
        while (!over && filled > 0)
            pthread_cond_wait(&back, &mutex);
        filled = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    pthread_cond_broadcast(&changed);
    return 0;
}

static void *worker(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    while (!over) {
        while (!over && filled == 0)
            pthread_cond_wait(&changed, &mutex);
        filled = 0;
        done++;
        pthread_cond_signal(&back);
    }
    pthread_cond_broadcast(&back);
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *teller(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    while (!over) {
        heard = 0;
        turn++;
        pthread_cond_broadcast(&changed);
        while (!over && heard < threads)
            pthread_cond_wait(&back, &mutex);
        done++;
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return 0;
}

static void *listener(void *unused)
{
    long last = 0;
    (void)unused;
    pthread_mutex_lock(&mutex);
    while (!over) {
        while (!over && turn == last)
            pthread_cond_wait(&changed, &mutex);
        last = turn;
        if (++heard == threads)
            pthread_cond_signal(&back);
    }
    pthread_cond_broadcast(&back);
    pthread_mutex_unlock(&mutex);
    return 0;
}

int main(int argc, char **argv)
{
    pthread_t ids[1025];
    int started = 0;
    if (argc != 5 || (threads = atoi(argv[2])) < 1 || threads > 1024) {
        fprintf(stderr, "usage: waits pingpong|queue|pool|tell THREADS WORK_NS MS\n");
        return 2;
    }
    work_ns = atol(argv[3]);
    double begin = at(CLOCK_MONOTONIC), cpu = at(CLOCK_PROCESS_CPUTIME_ID);
    if (!strcmp(argv[1], "pingpong")) {
        for (long side = 0; side < 2; side++)
            pthread_create(&ids[started++], 0, player, (void *)side);
    } else if (!strcmp(argv[1], "queue")) {
        for (int i = 0; i < threads; i++)
            pthread_create(&ids[started++], 0, i % 2 ? producer : consumer, 0);
    } else {
        int pool = !strcmp(argv[1], "pool");
        for (int i = 0; i < threads; i++)
            pthread_create(&ids[started++], 0, pool ? worker : listener, 0);
        pthread_create(&ids[started++], 0, pool ? giver : teller, 0);
    }
    struct timespec nap = {atol(argv[4]) / 1000, atol(argv[4]) % 1000 * 1000000};
    nanosleep(&nap, 0);
    pthread_mutex_lock(&mutex);
    over = 1;
    double took = at(CLOCK_MONOTONIC) - begin, cpu_took = at(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    long count = done ? done : 1;
    pthread_cond_broadcast(&changed);
    pthread_cond_broadcast(&back);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < started; i++)
        pthread_join(ids[i], 0);
    printf("%.0f %.0f\n", took / count, cpu_took / count);
    return 0;
}
