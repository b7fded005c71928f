/* What the locks do when they are used wrongly. Without an argument: all that returns. With one: the call of that
   number, which aborts the process with a message. */
#include "turnwise.h"
#include "check.h"
#include <pthread.h>
#include <string.h>

/* Runs a statement in a thread of its own, which then exits. */
#define ELSEWHERE(name, statement)                                                                                     \
    static void *name(void *object)                                                                                    \
    {                                                                                                                  \
        statement;                                                                                                     \
        return object;                                                                                                 \
    }
ELSEWHERE(lock_mutex, tw_mutex_lock(object))
ELSEWHERE(unlock_mutex, tw_mutex_unlock(object))
ELSEWHERE(lock_spin, tw_spinlock_lock(object))
ELSEWHERE(read_rwsem, tw_rwsem_read(object))
ELSEWHERE(write_rwsem, tw_rwsem_write(object))
ELSEWHERE(write_seqrwlock, tw_seqrwlock_write(object))
ELSEWHERE(lock_lockref, tw_lockref_lock(object))

static void elsewhere(void *(*body)(void *), void *object)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, object) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

/* Asserts that an exclusive lock is free and works, by its functions. Its owner would wait for itself. */
#define WORKS(kind, object, lock, lock_for, try, unlock)                                                               \
    do {                                                                                                               \
        kind##lock(object);                                                                                            \
        CHECK_RESULT(kind##try(object), TW_BUSY);                                                                      \
        CHECK_RESULT(kind##lock_for(object, MS), TW_TIMEDOUT);                                                         \
        kind##unlock(object);                                                                                          \
        CHECK_RESULT(kind##try(object), TW_OK);                                                                        \
        kind##unlock(object);                                                                                          \
    } while (0)

/* Unlocks of a free lock do nothing; an owner that exits leaves its lock locked, and another thread may unlock it. */
#define UNLOCKS(kind, object, lock_elsewhere, lock, lock_for, try, unlock)                                             \
    do {                                                                                                               \
        kind##unlock(object);                                                                                          \
        kind##unlock(object);                                                                                          \
        WORKS(kind, object, lock, lock_for, try, unlock);                                                              \
        elsewhere(lock_elsewhere, object);                                                                             \
        CHECK_RESULT(kind##try(object), TW_BUSY);                                                                      \
        CHECK_RESULT(kind##lock_for(object, MS), TW_TIMEDOUT);                                                         \
        kind##unlock(object);                                                                                          \
        WORKS(kind, object, lock, lock_for, try, unlock);                                                              \
    } while (0)

static void exclusive_locks(void)
{
    tw_mutex mutex = TW_MUTEX_INIT;
    tw_spinlock spinlock = TW_SPINLOCK_INIT;
    tw_rwsem rwsem = TW_RWSEM_INIT;
    tw_lockref lockref = TW_LOCKREF_INIT(0);
    UNLOCKS(tw_mutex_, &mutex, lock_mutex, lock, lock_for, trylock, unlock);
    UNLOCKS(tw_spinlock_, &spinlock, lock_spin, lock, lock_for, trylock, unlock);
    UNLOCKS(tw_rwsem_, &rwsem, write_rwsem, write, write_for, trywrite, unlock_write);
    UNLOCKS(tw_lockref_, &lockref, lock_lockref, lock, lock_for, trylock, unlock);
    tw_mutex_lock(&mutex);
    elsewhere(unlock_mutex, &mutex);
    WORKS(tw_mutex_, &mutex, lock, lock_for, trylock, unlock);
    tw_mutex_unlock_fair(&mutex);
    WORKS(tw_mutex_, &mutex, lock, lock_for, trylock, unlock);
}

static void readers(void)
{
    tw_rwsem sem = TW_RWSEM_INIT;
    elsewhere(read_rwsem, &sem);
    CHECK_RESULT(tw_rwsem_trywrite(&sem), TW_BUSY);
    CHECK_RESULT(tw_rwsem_tryread(&sem), TW_OK);
    CHECK_RESULT(tw_rwsem_write_for(&sem, MS), TW_TIMEDOUT);
    tw_rwsem_unlock_write(&sem); /* nobody writes: nothing happens */
    CHECK_RESULT(tw_rwsem_trywrite(&sem), TW_BUSY);
    tw_rwsem_unlock_read(&sem);
    tw_rwsem_unlock_read(&sem);
    CHECK_RESULT(tw_rwsem_tryupgradable(&sem), TW_OK);
    tw_rwsem_read(&sem);
    CHECK_RESULT(tw_rwsem_tryupgrade(&sem), TW_BUSY); /* it would wait for itself */
    CHECK_RESULT(tw_rwsem_upgrade_for(&sem, MS), TW_TIMEDOUT);
    tw_rwsem_unlock_read(&sem);
    tw_rwsem_unlock_upgradable(&sem);
    tw_rwsem_unlock_upgradable(&sem);
    WORKS(tw_rwsem_, &sem, write, write_for, trywrite, unlock_write);
    tw_rwsem_downgrade(&sem); /* of a free lock: a read lock that nobody has */
    CHECK_RESULT(tw_rwsem_trywrite(&sem), TW_BUSY);
    tw_rwsem_unlock_read(&sem);
    tw_rwsem_write(&sem);
    CHECK_RESULT(tw_rwsem_tryupgrade(&sem), TW_OK); /* a second writer */
    tw_rwsem_unlock_write(&sem);
    tw_rwsem_unlock_read(&sem); /* one too many: it is locked for ever */
    CHECK_RESULT(tw_rwsem_tryread(&sem), TW_BUSY);
    CHECK_RESULT(tw_rwsem_write_for(&sem, MS), TW_TIMEDOUT);
}

static void sequences(void)
{
    tw_seqrwlock lock = TW_SEQRWLOCK_INIT;
    elsewhere(write_seqrwlock, &lock);
    CHECK_RESULT(tw_seqrwlock_trywrite(&lock), TW_BUSY);
    CHECK_RESULT(tw_seqrwlock_write_for(&lock, MS), TW_TIMEDOUT);
    tw_seqrwlock_unlock_write(&lock);
    WORKS(tw_seqrwlock_, &lock, write, write_for, trywrite, unlock_write);
    tw_seqrwlock_unlock_write(&lock); /* of a free lock: it looks as if a writer were inside, and vice versa */
    tw_seqrwlock_write(&lock);
    uint64_t begin = tw_seqrwlock_read_begin(&lock);
    CHECK(!tw_seqrwlock_read_retry(&lock, begin));
}

struct pair {
    tw_mutex mutex;
    tw_cond *changed;
    int waits;
    int *flag;
};

static void *wait_for_flag(void *argument)
{
    struct pair *p = argument;
    tw_mutex_lock(&p->mutex);
    p->waits = 1;
    while (!__atomic_load_n(p->flag, __ATOMIC_SEQ_CST))
        tw_cond_wait(p->changed, &p->mutex);
    tw_mutex_unlock(&p->mutex);
    return NULL;
}

static void conditions(void)
{
    tw_cond changed = TW_COND_INIT;
    tw_mutex mutex = TW_MUTEX_INIT;
    CHECK_RESULT(tw_cond_wait_for(&changed, &mutex, MS), TW_TIMEDOUT); /* without the mutex: it ends with it */
    CHECK(tw_mutex_is_locked(&mutex));
    tw_mutex_unlock(&mutex);
    elsewhere(lock_mutex, &mutex);
    CHECK_RESULT(tw_cond_wait_for(&changed, &mutex, MS), TW_TIMEDOUT); /* with another's: it takes that */
    tw_mutex_unlock(&mutex);
    WORKS(tw_mutex_, &mutex, lock, lock_for, trylock, unlock);
    int flag = 0;
    struct pair pairs[2] = {{TW_MUTEX_INIT, &changed, 0, &flag}, {TW_MUTEX_INIT, &changed, 0, &flag}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_for_flag, &pairs[i]) == 0);
        for (int waits = 0; !waits;) {
            tw_mutex_lock(&pairs[i].mutex);
            waits = pairs[i].waits;
            tw_mutex_unlock(&pairs[i].mutex);
        }
    }
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    tw_cond_broadcast(&changed);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void counts(void)
{
    tw_semaphore semaphore = TW_SEMAPHORE_INIT(1);
    CHECK_RESULT(tw_semaphore_release(&semaphore, TW_PERMITS_MAX), TW_OVERFLOW);
    CHECK_RESULT(tw_semaphore_release(&semaphore, UINT32_MAX), TW_OVERFLOW);
    CHECK_RESULT(tw_semaphore_acquire(&semaphore, TW_PERMITS_MAX + 1), TW_INVALID);
    CHECK_RESULT(tw_semaphore_acquire_for(&semaphore, TW_PERMITS_MAX + 1, MS), TW_INVALID);
    CHECK_RESULT(tw_semaphore_tryacquire(&semaphore, UINT32_MAX), TW_BUSY);
    CHECK_RESULT(tw_semaphore_acquire_for(&semaphore, TW_PERMITS_MAX, MS), TW_TIMEDOUT); /* more than there are */
    CHECK(tw_semaphore_available(&semaphore) == 1);
}

int main(int argc, char **argv)
{
    tw_lockref none = TW_LOCKREF_INIT(0), full = TW_LOCKREF_INIT(TW_REFERENCES_MAX);
    switch (argc > 1 ? atoi(argv[1]) : 0) {
    case 0:
        exclusive_locks();
        readers();
        sequences();
        conditions();
        counts();
        return 0;
    case 1:
        tw_lockref_get(&none);
        break;
    case 2:
        return tw_lockref_put(&none) != 0;
    case 3:
        return tw_lockref_put_not_last(&none);
    case 4:
        return tw_lockref_put_or_lock(&none);
    case 5:
        tw_lockref_lock(&none);
        return tw_lockref_put_locked(&none) != 0;
    case 6:
        tw_lockref_get(&full);
        break;
    case 7:
        return tw_lockref_get_not_zero(&full);
    case 8:
        tw_lockref_lock(&full);
        return tw_lockref_get_locked(&full) != 0;
    }
    return 0;
}
