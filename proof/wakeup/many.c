/* Many signals, and nobody is stopped: threads pass items through a queue of few places, with a condition variable for
 * each side, and a signal for each item and each place. A lost one stops them sooner or later.
 *
 * many SIGNALS [SECONDS]: ends after that many signals for which a thread waited, or after that time.
 * Exit status: 0, none was lost; 1, HANG: nothing has moved for 10 s; 2, wrong usage. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PLACES = 2, WORKERS = 3, POSTERS = 2, STILL_S = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int items, consumers_waiting, producers_waiting;
static bool closed;
/* Written with the mutex; the main thread reads them at any time. */
static atomic_long signals, needed;

static void wait_for(pthread_cond_t *cond, int *waiting)
{
    ++*waiting;
    pthread_cond_wait(cond, &mutex);
    --*waiting;
}

static void send(pthread_cond_t *cond, int waiting)
{
    atomic_store_explicit(&signals, signals + 1, memory_order_relaxed);
    atomic_store_explicit(&needed, needed + (waiting > 0), memory_order_relaxed);
    pthread_cond_signal(cond);
}

static void *work(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!closed) {
        while (items == 0 && !closed)
            wait_for(&not_empty, &consumers_waiting);
        items -= items > 0;
        send(&not_full, producers_waiting);
        pthread_mutex_unlock(&mutex); /* others may come in between */
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void *post(void *unused)
{
    pthread_mutex_lock(&mutex);
    while (!closed) {
        while (items == PLACES && !closed)
            wait_for(&not_full, &producers_waiting);
        items++;
        send(&not_empty, consumers_waiting);
        pthread_mutex_unlock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return unused;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    long wanted = argc > 1 ? atol(argv[1]) : 0;
    double seconds = argc > 2 ? atof(argv[2]) : 1e9, begun = now(), moved = begun;
    if (wanted <= 0 || seconds <= 0)
        return fprintf(stderr, "usage: many SIGNALS [SECONDS]\n"), 2;
    pthread_t threads[WORKERS + POSTERS];
    for (int i = 0; i < WORKERS + POSTERS; i++)
        if (pthread_create(&threads[i], NULL, i < WORKERS ? work : post, NULL) != 0)
            return fprintf(stderr, "many: no thread can be started\n"), 2;
    for (long seen = 0; needed < wanted && now() - begun < seconds; usleep(10000)) {
        if (seen != signals) {
            seen = signals;
            moved = now();
        } else if (now() - moved > STILL_S) {
            return printf("HANG: nothing has moved for %d s, after %ld signals\n", STILL_S, seen), 1;
        }
    }
    pthread_mutex_lock(&mutex);
    closed = true;
    pthread_cond_broadcast(&not_empty);
    pthread_cond_broadcast(&not_full);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WORKERS + POSTERS; i++)
        pthread_join(threads[i], NULL);
    printf("no hang: %ld signals, for %ld of which a thread waited; %.1f s\n", signals, needed, now() - begun);
    return 0;
}
