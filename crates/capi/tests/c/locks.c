/* Every function of turnwise.h, in C11. */
#include "turnwise.h"
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 20000 };

static tw_mutex mutex = TW_MUTEX_INIT;
static tw_spinlock spinlock = TW_SPINLOCK_INIT;
static tw_rwsem rwsem = TW_RWSEM_INIT;
static tw_seqrwlock seqrwlock = TW_SEQRWLOCK_INIT;
static tw_lockref lockref = TW_LOCKREF_INIT(1);
static tw_semaphore semaphore = TW_SEMAPHORE_INIT(1);
static long counts[6];

static void *run_lockref(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        tw_lockref_get(&lockref);
        tw_lockref_lock(&lockref);
        counts[4]++;
        tw_lockref_unlock(&lockref);
        CHECK(tw_lockref_put(&lockref) > 0);
    }
    return unused;
}

static void *run(void *unused)
{
    for (int i = 0; i < ROUNDS; i++) {
        tw_mutex_lock(&mutex);
        counts[0]++;
        if (i % 64)
            tw_mutex_unlock(&mutex);
        else
            tw_mutex_unlock_fair(&mutex);
        tw_rwsem_write(&rwsem);
        counts[2]++;
        tw_rwsem_unlock_write(&rwsem);
        tw_seqrwlock_write(&seqrwlock);
        counts[3]++;
        tw_seqrwlock_unlock_write(&seqrwlock);
        CHECK_RESULT(tw_semaphore_acquire(&semaphore, 1), TW_OK);
        counts[5]++;
        CHECK_RESULT(tw_semaphore_release(&semaphore, 1), TW_OK);
        if (i % 16 == 0) {
            tw_spinlock_lock(&spinlock);
            counts[1]++;
            tw_spinlock_unlock(&spinlock);
        }
    }
    return unused;
}

static void in_threads(void *(*body)(void *))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, body, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void exclusion(void)
{
    static const long expected[6] = {THREADS * ROUNDS, THREADS * ((ROUNDS + 15) / 16), THREADS * ROUNDS,
                                     THREADS * ROUNDS, THREADS * ROUNDS,               THREADS * ROUNDS};
    in_threads(run);
    in_threads(run_lockref);
    CHECK(memcmp(counts, expected, sizeof counts) == 0);
    CHECK(tw_lockref_count(&lockref) == 1);
}

/* Whatever was in the memory before, init makes an unlocked object, the same as the initialiser. */
static void initialisers(void)
{
    tw_mutex m, fresh_m = TW_MUTEX_INIT;
    tw_cond c, fresh_c = TW_COND_INIT;
    tw_rwsem r, fresh_r = TW_RWSEM_INIT;
    tw_spinlock s, fresh_s = TW_SPINLOCK_INIT;
    tw_seqrwlock q, fresh_q = TW_SEQRWLOCK_INIT;
    tw_lockref l, fresh_l = TW_LOCKREF_INIT(7);
    tw_semaphore p, fresh_p = TW_SEMAPHORE_INIT(9);
#define SAME(object, fresh, ...)                                                                                       \
    memset(&object, 0xa5, sizeof object);                                                                              \
    __VA_ARGS__;                                                                                                       \
    CHECK(memcmp(&object, &fresh, sizeof object) == 0)
    SAME(m, fresh_m, tw_mutex_init(&m));
    SAME(c, fresh_c, tw_cond_init(&c));
    SAME(r, fresh_r, tw_rwsem_init(&r));
    SAME(s, fresh_s, tw_spinlock_init(&s));
    SAME(q, fresh_q, tw_seqrwlock_init(&q));
    SAME(l, fresh_l, CHECK_RESULT(tw_lockref_init(&l, 7), TW_OK));
    SAME(p, fresh_p, CHECK_RESULT(tw_semaphore_init(&p, 9), TW_OK));
    CHECK(tw_lockref_count(&l) == 7 && tw_semaphore_available(&p) == 9);
    CHECK_RESULT(tw_lockref_init(&l, TW_REFERENCES_MAX + 1u), TW_INVALID);
    CHECK_RESULT(tw_semaphore_init(&p, TW_PERMITS_MAX + 1u), TW_INVALID);
}

static uint64_t past(void)
{
    return tw_now_ns(TW_CLOCK_MONOTONIC) - MS;
}

static void *taken(void *unused)
{
    uint64_t wall = tw_now_ns(TW_CLOCK_REALTIME), begun = tw_now_ns(TW_CLOCK_MONOTONIC);
    CHECK_RESULT(tw_mutex_trylock(&mutex), TW_BUSY);
    CHECK_RESULT(tw_mutex_lock_for(&mutex, 5 * MS), TW_TIMEDOUT);
    CHECK(tw_now_ns(TW_CLOCK_MONOTONIC) - begun >= 5 * MS);
    CHECK_RESULT(tw_mutex_lock_until(&mutex, TW_CLOCK_REALTIME, wall + 10 * MS), TW_TIMEDOUT);
    CHECK(tw_now_ns(TW_CLOCK_REALTIME) - wall >= 10 * MS);
    CHECK_RESULT(tw_mutex_lock_until(&mutex, TW_CLOCK_MONOTONIC, past()), TW_TIMEDOUT);
    CHECK_RESULT(tw_mutex_lock_until(&mutex, 17, 0), TW_INVALID);
    CHECK_RESULT(tw_spinlock_trylock(&spinlock), TW_BUSY);
    CHECK_RESULT(tw_spinlock_lock_for(&spinlock, MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_spinlock_lock_until(&spinlock, TW_CLOCK_MONOTONIC, past()), TW_TIMEDOUT);
    CHECK_RESULT(tw_rwsem_tryread(&rwsem), TW_BUSY);
    CHECK_RESULT(tw_rwsem_trywrite(&rwsem), TW_BUSY);
    CHECK_RESULT(tw_rwsem_tryupgradable(&rwsem), TW_BUSY);
    CHECK_RESULT(tw_rwsem_read_for(&rwsem, MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_rwsem_write_until(&rwsem, TW_CLOCK_MONOTONIC, past()), TW_TIMEDOUT);
    CHECK_RESULT(tw_rwsem_upgradable_for(&rwsem, MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_seqrwlock_tryread(&seqrwlock), TW_BUSY);
    CHECK_RESULT(tw_seqrwlock_trywrite(&seqrwlock), TW_BUSY);
    CHECK_RESULT(tw_seqrwlock_read_for(&seqrwlock, MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_seqrwlock_write_until(&seqrwlock, TW_CLOCK_REALTIME, wall), TW_TIMEDOUT);
    CHECK_RESULT(tw_lockref_trylock(&lockref), TW_BUSY);
    CHECK_RESULT(tw_lockref_lock_for(&lockref, MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_lockref_lock_until(&lockref, -1, 0), TW_INVALID);
    CHECK_RESULT(tw_semaphore_tryacquire(&semaphore, 1), TW_BUSY);
    CHECK_RESULT(tw_semaphore_acquire_for(&semaphore, 1, MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_semaphore_acquire_until(&semaphore, 1, TW_CLOCK_MONOTONIC, past()), TW_TIMEDOUT);
    return unused;
}

static void elsewhere(void *(*body)(void *))
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static int got_through;

/* A thread that is being cancelled goes through every wait: none is a cancellation point, and none touches errno. */
static void *cancelled(void *unused)
{
    tw_mutex own = TW_MUTEX_INIT;
    tw_cond cond = TW_COND_INIT;
    CHECK(pthread_cancel(pthread_self()) == 0);
    errno = 4711;
    CHECK_RESULT(tw_mutex_lock_for(&mutex, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_rwsem_read_for(&rwsem, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_rwsem_write_for(&rwsem, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_seqrwlock_read_for(&seqrwlock, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_lockref_lock_for(&lockref, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_semaphore_acquire_for(&semaphore, 1, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_spinlock_lock_for(&spinlock, 3 * MS), TW_TIMEDOUT);
    tw_mutex_lock(&own);
    CHECK_RESULT(tw_cond_wait_for(&cond, &own, 3 * MS), TW_TIMEDOUT);
    tw_cond_broadcast(&cond);
    tw_mutex_unlock(&own);
    CHECK(errno == 4711);
    got_through = 1;
    return unused;
}

/* On behalf of the thread that has them, which waits for this one's end. */
static void *releases_all(void *unused)
{
    tw_mutex_unlock(&mutex);
    tw_spinlock_unlock(&spinlock);
    tw_rwsem_unlock_write(&rwsem);
    tw_seqrwlock_unlock_write(&seqrwlock);
    tw_lockref_unlock(&lockref);
    CHECK_RESULT(tw_semaphore_release(&semaphore, 1), TW_OK);
    return unused;
}

static void tries_and_times(void)
{
    CHECK_RESULT(tw_mutex_trylock(&mutex), TW_OK);
    CHECK_RESULT(tw_spinlock_trylock(&spinlock), TW_OK);
    CHECK_RESULT(tw_rwsem_trywrite(&rwsem), TW_OK);
    CHECK_RESULT(tw_seqrwlock_trywrite(&seqrwlock), TW_OK);
    CHECK_RESULT(tw_lockref_trylock(&lockref), TW_OK);
    CHECK_RESULT(tw_semaphore_tryacquire(&semaphore, 1), TW_OK);
    CHECK(tw_mutex_is_locked(&mutex) && tw_rwsem_is_locked(&rwsem) && tw_rwsem_is_write_locked(&rwsem));
    elsewhere(taken);
    elsewhere(cancelled);
    CHECK(got_through);
    elsewhere(releases_all);
    CHECK_RESULT(tw_mutex_lock_for(&mutex, 0), TW_OK);
    tw_mutex_unlock(&mutex);
    CHECK_RESULT(tw_spinlock_lock_until(&spinlock, TW_CLOCK_REALTIME, 0), TW_OK);
    tw_spinlock_unlock(&spinlock);
    CHECK(!tw_mutex_is_locked(&mutex) && !tw_rwsem_is_locked(&rwsem));
}

static void *reads(void *unused)
{
    CHECK_RESULT(tw_rwsem_tryread(&rwsem), TW_OK);
    tw_rwsem_unlock_read(&rwsem);
    CHECK_RESULT(tw_rwsem_trywrite(&rwsem), TW_BUSY);
    return unused;
}

static void *cannot_read(void *unused)
{
    CHECK_RESULT(tw_rwsem_tryread(&rwsem), TW_BUSY);
    return unused;
}

static void upgrades(void)
{
    tw_rwsem_read(&rwsem);
    elsewhere(reads);
    tw_rwsem_unlock_read(&rwsem);
    tw_rwsem_upgradable(&rwsem);
    elsewhere(reads);
    CHECK_RESULT(tw_rwsem_tryupgrade(&rwsem), TW_OK);
    elsewhere(cannot_read);
    tw_rwsem_downgrade_to_upgradable(&rwsem);
    elsewhere(reads);
    tw_rwsem_upgrade(&rwsem);
    tw_rwsem_downgrade(&rwsem);
    elsewhere(reads);
    tw_rwsem_unlock_read(&rwsem);
    CHECK_RESULT(tw_rwsem_tryupgradable(&rwsem), TW_OK);
    CHECK_RESULT(tw_rwsem_upgrade_for(&rwsem, MS), TW_OK);
    tw_rwsem_downgrade_to_upgradable(&rwsem);
    CHECK_RESULT(tw_rwsem_upgrade_until(&rwsem, TW_CLOCK_MONOTONIC, past()), TW_OK);
    tw_rwsem_downgrade_to_upgradable(&rwsem);
    tw_rwsem_downgrade_upgradable(&rwsem);
    CHECK_RESULT(tw_rwsem_tryupgradable(&rwsem), TW_OK);
    CHECK_RESULT(tw_rwsem_tryupgrade(&rwsem), TW_BUSY); /* we still read */
    tw_rwsem_unlock_read(&rwsem);
    tw_rwsem_unlock_upgradable(&rwsem);
    CHECK_RESULT(tw_rwsem_read_until(&rwsem, TW_CLOCK_MONOTONIC, past()), TW_OK);
    tw_rwsem_unlock_read(&rwsem);
    CHECK_RESULT(tw_rwsem_upgradable_until(&rwsem, TW_CLOCK_MONOTONIC, past()), TW_OK);
    tw_rwsem_unlock_upgradable(&rwsem);
    CHECK_RESULT(tw_rwsem_write_for(&rwsem, MS), TW_OK);
    tw_rwsem_unlock_write(&rwsem);
    CHECK(!tw_rwsem_is_locked(&rwsem));
}

static void references(void)
{
    tw_lockref l = TW_LOCKREF_INIT(0);
    CHECK(!tw_lockref_get_not_zero(&l));
    CHECK(!tw_lockref_get_or_lock(&l)); /* none: we have the lock */
    CHECK(tw_lockref_get_locked(&l) == 0);
    CHECK(tw_lockref_get_locked(&l) == 1);
    tw_lockref_unlock(&l);
    CHECK(tw_lockref_get_not_zero(&l) && tw_lockref_count(&l) == 3);
    CHECK(tw_lockref_get_or_lock(&l) && tw_lockref_get_not_dead(&l) && tw_lockref_count(&l) == 5);
    CHECK(tw_lockref_put(&l) == 4 && tw_lockref_put_not_last(&l) && tw_lockref_put_or_lock(&l));
    CHECK(tw_lockref_put_not_last(&l) && !tw_lockref_put_not_last(&l));
    CHECK(!tw_lockref_put_or_lock(&l)); /* the last: we have the lock */
    tw_lockref_mark_dead_locked(&l);
    CHECK(tw_lockref_put_locked(&l) == 0);
    tw_lockref_unlock(&l);
    CHECK(tw_lockref_is_dead(&l) && !tw_lockref_get_not_dead(&l) && tw_lockref_count(&l) == 0);
    CHECK_RESULT(tw_lockref_init(&l, 1), TW_OK);
    tw_lockref_mark_dead(&l);
    tw_lockref_get(&l);
    CHECK(tw_lockref_is_dead(&l) && !tw_lockref_get_not_zero(&l) && tw_lockref_put(&l) == 1);
}

static void permits(void)
{
    tw_semaphore s = TW_SEMAPHORE_INIT(3);
    CHECK_RESULT(tw_semaphore_tryacquire(&s, 4), TW_BUSY);
    CHECK_RESULT(tw_semaphore_acquire(&s, 2), TW_OK);
    CHECK(tw_semaphore_available(&s) == 1);
    CHECK_RESULT(tw_semaphore_release(&s, TW_PERMITS_MAX), TW_OVERFLOW);
    CHECK_RESULT(tw_semaphore_release(&s, TW_PERMITS_MAX - 1), TW_OK);
    CHECK_RESULT(tw_semaphore_release(&s, 1), TW_OVERFLOW);
    CHECK_RESULT(tw_semaphore_acquire(&s, UINT32_MAX), TW_INVALID);
    CHECK_RESULT(tw_semaphore_acquire_for(&s, UINT32_MAX, 0), TW_INVALID);
    CHECK_RESULT(tw_semaphore_acquire_until(&s, 1, 9, 0), TW_INVALID);
    CHECK_RESULT(tw_semaphore_acquire_for(&s, TW_PERMITS_MAX, LONG_NS), TW_OK);
    CHECK(tw_semaphore_available(&s) == 0);
}

static void versions(void)
{
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", TW_VERSION_MAJOR, TW_VERSION_MINOR, TW_VERSION_PATCH);
    CHECK(strcmp(tw_version(), expected) == 0);
    CHECK(strcmp(tw_result_text(TW_TIMEDOUT), "the time is up") == 0);
    CHECK(strlen(tw_result_text(4711)) > 0);
    CHECK(tw_now_ns(17) == 0);
}

int main(void)
{
    versions();
    initialisers();
    exclusion();
    tries_and_times();
    upgrades();
    references();
    permits();
    return 0;
}
