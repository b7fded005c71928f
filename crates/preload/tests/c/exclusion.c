/* Mutual exclusion of every kind by every way in, with more threads than CPUs. */
#include "check.h"
#include <sched.h>

struct lock {
    pthread_mutex_t mutex;
    long count;
    int busy;
};

static struct lock locks[4] = {{.mutex = PTHREAD_MUTEX_INITIALIZER},
                               {.mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP},
                               {.mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP},
                               {.mutex = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP}};

static int acquire(pthread_mutex_t *m, int way)
{
    struct timespec at = in_ns(way == 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, way % 2 ? 20000 : 3 * MS);
    switch (way) {
    case 1:
        return pthread_mutex_trylock(m);
    case 2:
        return pthread_mutex_timedlock(m, &at);
    case 3:
        return pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &at);
    default:
        return pthread_mutex_lock(m);
    }
}

static void *body(void *argument)
{
    long mine = 0;
    unsigned random = (unsigned)(intptr_t)argument;
    for (int i = 0; i < times(4000); i++) {
        random = random * 1103515245 + 12345;
        struct lock *l = &locks[random >> 16 & 3];
        int result = acquire(&l->mutex, random >> 20 & 3);
        if (result != 0) {
            CHECK(result == EBUSY || result == ETIMEDOUT);
            continue;
        }
        CHECK_EQ(l->busy, 0);
        l->busy = 1;
        l->count++;
        if ((random >> 24 & 255) == 0)
            sched_yield();
        l->busy = 0;
        CHECK_EQ(pthread_mutex_unlock(&l->mutex), 0);
        mine++;
    }
    return (void *)mine;
}

int main(void)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    long expected = 0, counted = 0;
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(body, (void *)(i * 7919 + 1));
    for (int i = 0; i < THREADS; i++) {
        void *mine;
        CHECK_EQ(pthread_join(threads[i], &mine), 0);
        expected += (long)mine;
    }
    for (int i = 0; i < 4; i++)
        counted += locks[i].count;
    CHECK_EQ(counted, expected);
    return 0;
}
