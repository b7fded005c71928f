/*
 * Of many threads that wait for a condition, one is cancelled and nobody signals: the others may wake up, but each a
 * few times at most. Then signals, some of them right before a cancellation, and none may be lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAITERS = 16, ROUNDS = 300 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int items, waiting;
static long wakes;

static void unlock(void *unused)
{
    (void)unused;
    waiting--;
    pthread_mutex_unlock(&mutex);
}

static void *take(void *unused)
{
    pthread_mutex_lock(&mutex);
    waiting++;
    pthread_cleanup_push(unlock, NULL);
    while (items == 0) {
        pthread_cond_wait(&changed, &mutex);
        wakes++;
    }
    items--;
    pthread_cleanup_pop(1);
    return unused;
}

static pthread_t start(void)
{
    pthread_t id;
    if (pthread_create(&id, NULL, take, NULL))
        abort();
    return id;
}

static void await_waiting(int wanted)
{
    for (int now = -1; now != wanted;) {
        usleep(200);
        pthread_mutex_lock(&mutex);
        now = waiting;
        pthread_mutex_unlock(&mutex);
    }
}

static void put(void)
{
    pthread_mutex_lock(&mutex);
    items++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    pthread_t ids[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        ids[i] = start();
    await_waiting(WAITERS);
    usleep(20000);
    pthread_cancel(ids[0]);
    pthread_join(ids[0], NULL);
    usleep(200000);
    pthread_mutex_lock(&mutex);
    long seen = wakes;
    pthread_mutex_unlock(&mutex);
    if (seen > 10 * WAITERS) {
        printf("%ld wake-ups after one cancellation\n", seen);
        return 1;
    }
    for (int i = 1; i < WAITERS; i++)
        put();
    for (int i = 1; i < WAITERS; i++)
        pthread_join(ids[i], NULL);
    /* One of two waiters is cancelled as an item comes: the other, or the cancelled one before it ends, takes it. */
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t doomed = start(), other = start();
        await_waiting(2);
        put();
        pthread_cancel(doomed);
        pthread_join(doomed, NULL);
        pthread_mutex_lock(&mutex);
        int left = items + (waiting == 0);
        pthread_mutex_unlock(&mutex);
        if (left == 0)
            put(); /* the doomed one took it */
        pthread_join(other, NULL);
        items = 0;
    }
    return 0;
}
