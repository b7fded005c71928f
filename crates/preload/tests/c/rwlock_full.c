/* The greatest number of read locks, of both kinds: one more is EAGAIN to whoever asks, and nobody waits. */
#include "check.h"

enum { MOST = 1 << 20 };

static void *more(void *argument)
{
    pthread_rwlock_t *lock = argument;
    struct timespec at = in_ns(CLOCK_REALTIME, 20000LL * MS), soon = in_ns(CLOCK_MONOTONIC, 20000LL * MS);
    CHECK_EQ(pthread_rwlock_tryrdlock(lock), EAGAIN);
    CHECK_EQ(pthread_rwlock_rdlock(lock), EAGAIN);
    CHECK_EQ(pthread_rwlock_timedrdlock(lock, &at), EAGAIN);
    CHECK_EQ(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &soon), EAGAIN);
    CHECK_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    return NULL;
}

static void fill(pthread_rwlock_t *lock)
{
    for (long i = 0; i < MOST; i++)
        CHECK_EQ(pthread_rwlock_tryrdlock(lock), 0);
    more(lock);
    in_thread(more, lock);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    CHECK_EQ(pthread_rwlock_rdlock(lock), 0);
    more(lock);
    for (long i = 0; i < MOST; i++)
        CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    CHECK_EQ(pthread_rwlock_trywrlock(lock), 0);
    CHECK_EQ(pthread_rwlock_tryrdlock(lock), EBUSY);
    CHECK_EQ(pthread_rwlock_rdlock(lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
}

int main(void)
{
    static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    fill(&readers);
    fill(&writers);
    return 0;
}
