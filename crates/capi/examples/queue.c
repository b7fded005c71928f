/* A bounded queue between producers and consumers: a mutex and two condition variables.
 *
 *     cc -std=c11 -pthread queue.c $(pkg-config --cflags --libs turnwise)
 */
#include <pthread.h>
#include <stdio.h>
#include <turnwise.h>

enum { ROOM = 16, ITEMS = 10000, PRODUCERS = 2, CONSUMERS = 2 };

static tw_mutex mutex = TW_MUTEX_INIT;
static tw_cond not_full = TW_COND_INIT, not_empty = TW_COND_INIT;
static long items[ROOM];
static unsigned used, first;

static void put(long item)
{
    tw_mutex_lock(&mutex);
    while (used == ROOM)
        tw_cond_wait(&not_full, &mutex);
    items[(first + used++) % ROOM] = item;
    tw_cond_signal(&not_empty);
    tw_mutex_unlock(&mutex);
}

/* Whether there was an item within a second. */
static int take(long *item)
{
    uint64_t until = tw_now_ns(TW_CLOCK_MONOTONIC) + UINT64_C(1000000000);
    tw_mutex_lock(&mutex);
    while (used == 0) {
        if (tw_cond_wait_until(&not_empty, &mutex, TW_CLOCK_MONOTONIC, until) == TW_TIMEDOUT && used == 0) {
            tw_mutex_unlock(&mutex);
            return 0;
        }
    }
    *item = items[first++ % ROOM];
    used--;
    tw_cond_signal(&not_full);
    tw_mutex_unlock(&mutex);
    return 1;
}

static void *produce(void *unused)
{
    for (long i = 1; i <= ITEMS; i++)
        put(i);
    return unused;
}

static void *consume(void *sum)
{
    long item;
    for (int i = 0; i < ITEMS * PRODUCERS / CONSUMERS; i++) {
        if (!take(&item))
            return NULL;
        *(long *)sum += item;
    }
    return sum;
}

int main(void)
{
    pthread_t threads[PRODUCERS + CONSUMERS];
    long sums[CONSUMERS] = {0}, sum = 0;
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&threads[i], NULL, produce, NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&threads[PRODUCERS + i], NULL, consume, &sums[i]);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < CONSUMERS; i++)
        sum += sums[i];
    printf("Turnwise %s: the items' sum is %ld, and should be %ld\n", tw_version(), sum,
           (long)PRODUCERS * ITEMS * (ITEMS + 1) / 2);
    return sum != (long)PRODUCERS * ITEMS * (ITEMS + 1) / 2;
}
