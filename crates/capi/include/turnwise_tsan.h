// For programs compiled with -fsanitize=thread, in which turnwise.h includes this file. ThreadSanitizer does not see
// into the library, and would report accesses that the locks order as races; so each function that acquires or releases
// tells it the order.
#ifndef TURNWISE_TSAN_H
#define TURNWISE_TSAN_H

#include <sanitizer/tsan_interface.h>

/* Tells that other threads' releases of this lock came before, if it was acquired. */
static inline enum tw_result tw_tsan_took(const void *lock, enum tw_result result)
{
    if (result == TW_OK)
        __tsan_acquire((void *)lock);
    return result;
}

/* Defines a function that acquires the lock. */
#define TW_TSAN_TAKE(type, name)                                                                                       \
    static inline void tw_tsan_##name(type *lock)                                                                      \
    {                                                                                                                  \
        tw_##name(lock);                                                                                               \
        __tsan_acquire(lock);                                                                                          \
    }
/* Defines a function that releases the lock: what the thread did before comes before the next acquisition. */
#define TW_TSAN_GIVE(type, name)                                                                                       \
    static inline void tw_tsan_##name(type *lock)                                                                      \
    {                                                                                                                  \
        __tsan_release(lock);                                                                                          \
        tw_##name(lock);                                                                                               \
    }
#define TW_TSAN_TRY(type, name)                                                                                        \
    TW_MUST_USE static inline enum tw_result tw_tsan_##name(type *lock)                                                \
    {                                                                                                                  \
        return tw_tsan_took(lock, tw_##name(lock));                                                                    \
    }
#define TW_TSAN_WAIT(type, name)                                                                                       \
    TW_MUST_USE static inline enum tw_result tw_tsan_##name##_for(type *lock, uint64_t timeout_ns)                     \
    {                                                                                                                  \
        return tw_tsan_took(lock, tw_##name##_for(lock, timeout_ns));                                                  \
    }                                                                                                                  \
    TW_MUST_USE static inline enum tw_result tw_tsan_##name##_until(type *lock, int clock, uint64_t at_ns)             \
    {                                                                                                                  \
        return tw_tsan_took(lock, tw_##name##_until(lock, clock, at_ns));                                              \
    }
/* Defines a function that returns whether it got a reference. */
#define TW_TSAN_GET(type, name)                                                                                        \
    TW_MUST_USE static inline bool tw_tsan_##name(type *lock)                                                          \
    {                                                                                                                  \
        const bool got = tw_##name(lock);                                                                              \
        if (got)                                                                                                       \
            __tsan_acquire(lock);                                                                                      \
        return got;                                                                                                    \
    }
/* Defines a function that drops a reference, perhaps the last: then it sees what the others did before. */
#define TW_TSAN_PUT(attributes, returned, type, name)                                                                  \
    attributes static inline returned tw_tsan_##name(type *lock)                                                       \
    {                                                                                                                  \
        __tsan_release(lock);                                                                                          \
        const returned left = tw_##name(lock);                                                                         \
        __tsan_acquire(lock);                                                                                          \
        return left;                                                                                                   \
    }

TW_TSAN_TAKE(tw_mutex, mutex_lock)
TW_TSAN_TRY(tw_mutex, mutex_trylock)
TW_TSAN_WAIT(tw_mutex, mutex_lock)
TW_TSAN_GIVE(tw_mutex, mutex_unlock)
TW_TSAN_GIVE(tw_mutex, mutex_unlock_fair)

TW_TSAN_TAKE(tw_rwsem, rwsem_read)
TW_TSAN_TRY(tw_rwsem, rwsem_tryread)
TW_TSAN_WAIT(tw_rwsem, rwsem_read)
TW_TSAN_GIVE(tw_rwsem, rwsem_unlock_read)
TW_TSAN_TAKE(tw_rwsem, rwsem_write)
TW_TSAN_TRY(tw_rwsem, rwsem_trywrite)
TW_TSAN_WAIT(tw_rwsem, rwsem_write)
TW_TSAN_GIVE(tw_rwsem, rwsem_unlock_write)
TW_TSAN_GIVE(tw_rwsem, rwsem_downgrade)
TW_TSAN_TAKE(tw_rwsem, rwsem_upgradable)
TW_TSAN_TRY(tw_rwsem, rwsem_tryupgradable)
TW_TSAN_WAIT(tw_rwsem, rwsem_upgradable)
TW_TSAN_GIVE(tw_rwsem, rwsem_unlock_upgradable)
TW_TSAN_TAKE(tw_rwsem, rwsem_upgrade)
TW_TSAN_TRY(tw_rwsem, rwsem_tryupgrade)
TW_TSAN_WAIT(tw_rwsem, rwsem_upgrade)
TW_TSAN_GIVE(tw_rwsem, rwsem_downgrade_upgradable)
TW_TSAN_GIVE(tw_rwsem, rwsem_downgrade_to_upgradable)

TW_TSAN_TAKE(tw_spinlock, spinlock_lock)
TW_TSAN_TRY(tw_spinlock, spinlock_trylock)
TW_TSAN_WAIT(tw_spinlock, spinlock_lock)
TW_TSAN_GIVE(tw_spinlock, spinlock_unlock)

TW_TSAN_TAKE(tw_seqrwlock, seqrwlock_read)
TW_TSAN_TRY(tw_seqrwlock, seqrwlock_tryread)
TW_TSAN_WAIT(tw_seqrwlock, seqrwlock_read)
TW_TSAN_GIVE(tw_seqrwlock, seqrwlock_unlock_read)
TW_TSAN_TAKE(tw_seqrwlock, seqrwlock_write)
TW_TSAN_TRY(tw_seqrwlock, seqrwlock_trywrite)
TW_TSAN_WAIT(tw_seqrwlock, seqrwlock_write)
TW_TSAN_GIVE(tw_seqrwlock, seqrwlock_unlock_write)

TW_TSAN_TAKE(tw_lockref, lockref_lock)
TW_TSAN_TRY(tw_lockref, lockref_trylock)
TW_TSAN_WAIT(tw_lockref, lockref_lock)
TW_TSAN_GIVE(tw_lockref, lockref_unlock)
TW_TSAN_GET(tw_lockref, lockref_get_not_zero)
TW_TSAN_GET(tw_lockref, lockref_get_not_dead)
TW_TSAN_PUT(TW_MUST_USE, bool, tw_lockref, lockref_get_or_lock)
TW_TSAN_PUT(, uint32_t, tw_lockref, lockref_put)
TW_TSAN_PUT(TW_MUST_USE, bool, tw_lockref, lockref_put_not_last)
TW_TSAN_PUT(TW_MUST_USE, bool, tw_lockref, lockref_put_or_lock)

/* A wait on a condition variable releases the mutex and acquires it again, however it ends. */
static inline void tw_tsan_cond_wait(tw_cond *cond, tw_mutex *mutex)
{
    __tsan_release(mutex);
    tw_cond_wait(cond, mutex);
    __tsan_acquire(mutex);
}
static inline enum tw_result tw_tsan_cond_wait_for(tw_cond *cond, tw_mutex *mutex, uint64_t timeout_ns)
{
    __tsan_release(mutex);
    const enum tw_result result = tw_cond_wait_for(cond, mutex, timeout_ns);
    __tsan_acquire(mutex);
    return result;
}
static inline enum tw_result tw_tsan_cond_wait_until(tw_cond *cond, tw_mutex *mutex, int clock, uint64_t at_ns)
{
    __tsan_release(mutex);
    const enum tw_result result = tw_cond_wait_until(cond, mutex, clock, at_ns);
    __tsan_acquire(mutex);
    return result;
}

/* What writers did before this read comes before it; the data are the program's own, in atomic words. */
TW_MUST_USE static inline uint64_t tw_tsan_seqrwlock_read_begin(const tw_seqrwlock *lock)
{
    const uint64_t begin = tw_seqrwlock_read_begin(lock);
    __tsan_acquire((void *)lock);
    return begin;
}
TW_MUST_USE static inline uint64_t tw_tsan_seqrwlock_begin_or_lock(tw_seqrwlock *lock)
{
    const uint64_t pass = tw_seqrwlock_begin_or_lock(lock);
    __tsan_acquire(lock);
    return pass;
}
TW_MUST_USE static inline bool tw_tsan_seqrwlock_retry_or_lock(tw_seqrwlock *lock, uint64_t *pass)
{
    const bool again = tw_seqrwlock_retry_or_lock(lock, pass);
    __tsan_acquire(lock);
    return again;
}
static inline void tw_tsan_seqrwlock_done(tw_seqrwlock *lock, uint64_t pass)
{
    __tsan_release(lock);
    tw_seqrwlock_done(lock, pass);
}

static inline enum tw_result tw_tsan_semaphore_acquire(tw_semaphore *semaphore, uint32_t n)
{
    return tw_tsan_took(semaphore, tw_semaphore_acquire(semaphore, n));
}
TW_MUST_USE static inline enum tw_result tw_tsan_semaphore_tryacquire(tw_semaphore *semaphore, uint32_t n)
{
    return tw_tsan_took(semaphore, tw_semaphore_tryacquire(semaphore, n));
}
TW_MUST_USE static inline enum tw_result tw_tsan_semaphore_acquire_for(tw_semaphore *semaphore, uint32_t n,
                                                                       uint64_t timeout_ns)
{
    return tw_tsan_took(semaphore, tw_semaphore_acquire_for(semaphore, n, timeout_ns));
}
static inline enum tw_result tw_tsan_semaphore_acquire_until(tw_semaphore *semaphore, uint32_t n, int clock,
                                                             uint64_t at_ns)
{
    return tw_tsan_took(semaphore, tw_semaphore_acquire_until(semaphore, n, clock, at_ns));
}
static inline enum tw_result tw_tsan_semaphore_release(tw_semaphore *semaphore, uint32_t n)
{
    __tsan_release(semaphore);
    return tw_semaphore_release(semaphore, n);
}

/* From here on the program calls the functions above. */
#define tw_mutex_lock tw_tsan_mutex_lock
#define tw_mutex_trylock tw_tsan_mutex_trylock
#define tw_mutex_lock_for tw_tsan_mutex_lock_for
#define tw_mutex_lock_until tw_tsan_mutex_lock_until
#define tw_mutex_unlock tw_tsan_mutex_unlock
#define tw_mutex_unlock_fair tw_tsan_mutex_unlock_fair
#define tw_rwsem_read tw_tsan_rwsem_read
#define tw_rwsem_tryread tw_tsan_rwsem_tryread
#define tw_rwsem_read_for tw_tsan_rwsem_read_for
#define tw_rwsem_read_until tw_tsan_rwsem_read_until
#define tw_rwsem_unlock_read tw_tsan_rwsem_unlock_read
#define tw_rwsem_write tw_tsan_rwsem_write
#define tw_rwsem_trywrite tw_tsan_rwsem_trywrite
#define tw_rwsem_write_for tw_tsan_rwsem_write_for
#define tw_rwsem_write_until tw_tsan_rwsem_write_until
#define tw_rwsem_unlock_write tw_tsan_rwsem_unlock_write
#define tw_rwsem_downgrade tw_tsan_rwsem_downgrade
#define tw_rwsem_upgradable tw_tsan_rwsem_upgradable
#define tw_rwsem_tryupgradable tw_tsan_rwsem_tryupgradable
#define tw_rwsem_upgradable_for tw_tsan_rwsem_upgradable_for
#define tw_rwsem_upgradable_until tw_tsan_rwsem_upgradable_until
#define tw_rwsem_unlock_upgradable tw_tsan_rwsem_unlock_upgradable
#define tw_rwsem_upgrade tw_tsan_rwsem_upgrade
#define tw_rwsem_tryupgrade tw_tsan_rwsem_tryupgrade
#define tw_rwsem_upgrade_for tw_tsan_rwsem_upgrade_for
#define tw_rwsem_upgrade_until tw_tsan_rwsem_upgrade_until
#define tw_rwsem_downgrade_upgradable tw_tsan_rwsem_downgrade_upgradable
#define tw_rwsem_downgrade_to_upgradable tw_tsan_rwsem_downgrade_to_upgradable
#define tw_spinlock_lock tw_tsan_spinlock_lock
#define tw_spinlock_trylock tw_tsan_spinlock_trylock
#define tw_spinlock_lock_for tw_tsan_spinlock_lock_for
#define tw_spinlock_lock_until tw_tsan_spinlock_lock_until
#define tw_spinlock_unlock tw_tsan_spinlock_unlock
#define tw_seqrwlock_read tw_tsan_seqrwlock_read
#define tw_seqrwlock_tryread tw_tsan_seqrwlock_tryread
#define tw_seqrwlock_read_for tw_tsan_seqrwlock_read_for
#define tw_seqrwlock_read_until tw_tsan_seqrwlock_read_until
#define tw_seqrwlock_unlock_read tw_tsan_seqrwlock_unlock_read
#define tw_seqrwlock_write tw_tsan_seqrwlock_write
#define tw_seqrwlock_trywrite tw_tsan_seqrwlock_trywrite
#define tw_seqrwlock_write_for tw_tsan_seqrwlock_write_for
#define tw_seqrwlock_write_until tw_tsan_seqrwlock_write_until
#define tw_seqrwlock_unlock_write tw_tsan_seqrwlock_unlock_write
#define tw_lockref_lock tw_tsan_lockref_lock
#define tw_lockref_trylock tw_tsan_lockref_trylock
#define tw_lockref_lock_for tw_tsan_lockref_lock_for
#define tw_lockref_lock_until tw_tsan_lockref_lock_until
#define tw_lockref_unlock tw_tsan_lockref_unlock
#define tw_lockref_get_not_zero tw_tsan_lockref_get_not_zero
#define tw_lockref_get_not_dead tw_tsan_lockref_get_not_dead
#define tw_lockref_get_or_lock tw_tsan_lockref_get_or_lock
#define tw_lockref_put tw_tsan_lockref_put
#define tw_lockref_put_not_last tw_tsan_lockref_put_not_last
#define tw_lockref_put_or_lock tw_tsan_lockref_put_or_lock
#define tw_cond_wait tw_tsan_cond_wait
#define tw_cond_wait_for tw_tsan_cond_wait_for
#define tw_cond_wait_until tw_tsan_cond_wait_until
#define tw_seqrwlock_read_begin tw_tsan_seqrwlock_read_begin
#define tw_seqrwlock_begin_or_lock tw_tsan_seqrwlock_begin_or_lock
#define tw_seqrwlock_retry_or_lock tw_tsan_seqrwlock_retry_or_lock
#define tw_seqrwlock_done tw_tsan_seqrwlock_done
#define tw_semaphore_acquire tw_tsan_semaphore_acquire
#define tw_semaphore_tryacquire tw_tsan_semaphore_tryacquire
#define tw_semaphore_acquire_for tw_tsan_semaphore_acquire_for
#define tw_semaphore_acquire_until tw_tsan_semaphore_acquire_until
#define tw_semaphore_release tw_tsan_semaphore_release

#endif
