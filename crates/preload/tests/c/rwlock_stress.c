/* Exclusion of writers by every way in, both kinds, with more threads than CPUs; locks that die right after use. */
#include "check.h"
#include <sched.h>

enum { THREADS = 8, ROUNDS = 4000 };

struct lock {
    pthread_rwlock_t rwlock;
    /* Plain data: writers keep the two equal. */
    long first, second;
    int readers, writers;
};

static struct lock locks[2] = {{.rwlock = PTHREAD_RWLOCK_INITIALIZER},
                               {.rwlock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP}};

static int acquire(pthread_rwlock_t *lock, int write, int way)
{
    struct timespec at = in_ns(way == 2 ? CLOCK_REALTIME : CLOCK_MONOTONIC, way % 2 ? 20000 : 3 * MS);
    switch (way) {
    case 1:
        return write ? pthread_rwlock_trywrlock(lock) : pthread_rwlock_tryrdlock(lock);
    case 2:
        return write ? pthread_rwlock_timedwrlock(lock, &at) : pthread_rwlock_timedrdlock(lock, &at);
    case 3:
        return write ? pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &at)
                     : pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &at);
    default:
        return write ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock);
    }
}

static void section(struct lock *l, int write, int rest)
{
    int *mine = write ? &l->writers : &l->readers;
    __atomic_add_fetch(mine, 1, __ATOMIC_RELAXED);
    CHECK_EQ(l->first, l->second);
    if (write)
        l->first++;
    if (rest)
        sched_yield();
    CHECK_EQ(__atomic_load_n(&l->writers, __ATOMIC_RELAXED), write);
    if (write) {
        CHECK_EQ(__atomic_load_n(&l->readers, __ATOMIC_RELAXED), 0);
        l->second++;
    }
    __atomic_sub_fetch(mine, 1, __ATOMIC_RELAXED);
}

static void *body(void *argument)
{
    long writes = 0;
    unsigned random = (unsigned)(intptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        struct lock *l = &locks[random >> 16 & 1];
        int write = (random >> 17 & 3) == 0;
        int result = acquire(&l->rwlock, write, random >> 20 & 3);
        if (result != 0) {
            CHECK(result == EBUSY || result == ETIMEDOUT);
            continue;
        }
        section(l, write, (random >> 24 & 127) == 0);
        CHECK_EQ(pthread_rwlock_unlock(&l->rwlock), 0);
        writes += write;
    }
    return (void *)writes;
}

static void exclusion(void)
{
    pthread_t threads[THREADS];
    long expected = 0;
    for (intptr_t i = 0; i < THREADS; i++)
        threads[i] = start(body, (void *)(i * 7919 + 1));
    for (int i = 0; i < THREADS; i++) {
        void *writes;
        CHECK_EQ(pthread_join(threads[i], &writes), 0);
        expected += (long)writes;
    }
    CHECK(expected > 0);
    CHECK_EQ(locks[0].first + locks[1].first, expected);
}

/* The last to acquire may free the lock: whoever released it before must not touch it any more. */
struct mortal {
    pthread_rwlock_t rwlock;
    int left;
};

static void *live_and_let_die(void *argument)
{
    struct mortal *m = argument;
    CHECK_EQ(pthread_rwlock_wrlock(&m->rwlock), 0);
    int left = --m->left;
    CHECK_EQ(pthread_rwlock_unlock(&m->rwlock), 0);
    if (left == 0) {
        CHECK_EQ(pthread_rwlock_destroy(&m->rwlock), 0);
        memset(m, 0x5a, sizeof *m);
        free(m);
    }
    return NULL;
}

static void destruction(void)
{
    for (int round = 0; round < 300; round++) {
        struct mortal *m = malloc(sizeof *m);
        CHECK(m != NULL);
        m->left = 3;
        CHECK_EQ(pthread_rwlock_init(&m->rwlock, NULL), 0);
        pthread_t threads[3];
        for (int i = 0; i < 3; i++)
            threads[i] = start(live_and_let_die, m);
        for (int i = 0; i < 3; i++)
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
}

int main(void)
{
    exclusion();
    destruction();
    return 0;
}
