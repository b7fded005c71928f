/*
 * Turnwise: adaptive locks. Waiters stand in a queue, spin only while the owner may be running, then sleep; every wait
 * is bounded except where it says otherwise.
 *
 * Generated from crates/capi/src by `cargo xtask header`; changes go there.
 *
 * What all functions require: each pointer points to an object of its type that was made by its _init function, its
 * _INIT initialiser, or zero bytes, and that lives until the call returns. An object that is in use is neither copied
 * nor moved. Locks are released by the thread that acquired them, or by another on its behalf that it is ordered with.
 * Nothing here works across processes; nothing is a cancellation point; errno is left alone. Locking in a signal
 * handler is allowed by the try functions only.
 *
 * Every program, with all its libraries, should have one copy of this library: link the shared one if more than one
 * part of a program uses it. Two static copies must not work on the same lock.
 */

#ifndef TURNWISE_H
#define TURNWISE_H

#include <stdbool.h>
#include <stdint.h>

/* A result that the program must look at. */
#if defined(__GNUC__)
#define TW_MUST_USE __attribute__((warn_unused_result))
#else
#define TW_MUST_USE
#endif

// Major version of this header: programs built for another one must be rebuilt.
#define TW_VERSION_MAJOR 0

// Minor version of this header.
#define TW_VERSION_MINOR 1

// Patch version of this header.
#define TW_VERSION_PATCH 0

// The clock that is never set back: CLOCK_MONOTONIC.
#define TW_CLOCK_MONOTONIC 0

// The wall clock, which may be set: CLOCK_REALTIME.
#define TW_CLOCK_REALTIME 1

// The most references of a `tw_lockref`.
#define TW_REFERENCES_MAX 2147483647

// The most permits of a semaphore.
#define TW_PERMITS_MAX 16777215

// What a function that may fail answers.
typedef enum tw_result {
    // Done.
    TW_OK = 0,
    // A try found the lock taken.
    TW_BUSY = 1,
    // The time came before the lock, or before a signal.
    TW_TIMEDOUT = 2,
    // An argument is out of its range; nothing was done.
    TW_INVALID = 3,
    // A count would exceed its limit; nothing was done.
    TW_OVERFLOW = 4,
} tw_result;

// A mutex. It is not recursive: a thread that locks it twice waits for itself. Waiters spin in a queue while the owner
// runs, then sleep; nobody is overtaken for ever. `TW_MUTEX_INIT` or zero bytes: unlocked.
typedef struct tw_mutex {
    // Not for the program.
    uint32_t opaque[2];
} tw_mutex;

// A condition variable for `tw_mutex`. A wait may return for no reason: look at the condition again. Threads may wait
// with different mutexes, though one is quicker. `TW_COND_INIT` or zero bytes: nobody waits.
typedef struct tw_cond {
    // Not for the program.
    uint32_t opaque[3];
} tw_cond;

// A readers-writer lock: many readers, or one writer; beside the readers one upgradable reader. Writers that sleep go
// before new readers, so a thread that reads must not read again. `TW_RWSEM_INIT` or zero bytes: unlocked.
typedef struct tw_rwsem {
    // Not for the program.
    uint32_t opaque[3];
} tw_rwsem;

// A spin lock: waiters look, less and less often, and never sleep. For sections of a few instructions, with no more
// threads than CPUs; everywhere else take `tw_mutex`. No order among waiters. `TW_SPINLOCK_INIT` or zero bytes: free.
typedef struct tw_spinlock {
    // Not for the program.
    uint32_t opaque;
} tw_spinlock;

// A sequence lock with a second, blocking kind of reader. An optimistic read writes nothing: it reads, and reads
// again if a writer came between. What it reads must be read by atomic loads (relaxed ones do), since a writer may be
// changing it, and pointers among it must not be followed unless what they point to cannot be freed meanwhile.
// `TW_SEQRWLOCK_INIT` or zero bytes: unlocked.
typedef struct tw_seqrwlock {
    // Not for the program.
    uint64_t opaque[3];
} tw_seqrwlock;

// A reference count and a lock in 8 bytes: the count changes without the lock while the lock is free. It counts; what
// the count keeps alive is the program's business. One reference too many or too few aborts the process with a message
// instead of wrapping. `TW_LOCKREF_INIT(references)`; zero bytes: unlocked, no references.
typedef struct tw_lockref {
    // Not for the program.
    uint64_t opaque;
} tw_lockref;

// A counting semaphore. A thread takes all the permits that it asked for at once, or waits; newcomers may overtake
// those that wait, within bounds. `TW_SEMAPHORE_INIT(permits)`; zero bytes: no permits.
typedef struct tw_semaphore {
    // Not for the program.
    uint32_t opaque;
} tw_semaphore;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The version of the library that the program runs with, such as "0.1.0". The text lives as long as the process.
const char *tw_version(void);

// A few words for an answer, in English, for messages. The text lives as long as the process.
const char *tw_result_text(int result);

// Nanoseconds on a clock, `TW_CLOCK_MONOTONIC` or `TW_CLOCK_REALTIME`, for the `_until` functions; 0 for any other.
uint64_t tw_now_ns(int clock);

// Makes an unlocked mutex, as TW_MUTEX_INIT does. There is no function to destroy one: its memory may be freed as soon
// as nobody uses it, also right after the last unlock.
void tw_mutex_init(struct tw_mutex *mutex);

// Acquires the mutex; waits until it is free. Any thread that does not have it may call this.
void tw_mutex_lock(struct tw_mutex *mutex);

// Acquires the mutex if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_mutex_trylock(struct tw_mutex *mutex);

// Acquires the mutex: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_mutex_lock_for(struct tw_mutex *mutex, uint64_t timeout_ns);

// Acquires the mutex: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_mutex_lock_until(struct tw_mutex *mutex, int clock, uint64_t at_ns);

// Releases the mutex, which the calling thread has.
void tw_mutex_unlock(struct tw_mutex *mutex);

// Releases the mutex to the thread that has slept for it longest, if any sleeps: slower, but newcomers cannot take it.
void tw_mutex_unlock_fair(struct tw_mutex *mutex);

// Whether anybody has the mutex at this moment: for assertions.
bool tw_mutex_is_locked(const struct tw_mutex *mutex);

// Makes a condition variable that nobody waits for, as TW_COND_INIT does. Its memory may be freed when no thread is
// in a wait.
void tw_cond_init(struct tw_cond *cond);

// Releases `mutex`, which the caller has, waits for a signal, and acquires it again.
void tw_cond_wait(struct tw_cond *cond, struct tw_mutex *mutex);

// Like tw_cond_wait: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds. The caller has the mutex either way.
enum tw_result tw_cond_wait_for(struct tw_cond *cond, struct tw_mutex *mutex, uint64_t timeout_ns);

// Like tw_cond_wait: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID at once if there is no such
// clock. The caller has the mutex in any case.
enum tw_result tw_cond_wait_until(struct tw_cond *cond, struct tw_mutex *mutex, int clock, uint64_t at_ns);

// Wakes one of the threads that wait, if there is any: who has slept longest, but real-time threads first.
void tw_cond_signal(struct tw_cond *cond);

// Wakes all threads that wait: one at once, each of the others when the mutex is free for it; all at once if there
// were ever waiters with different mutexes.
void tw_cond_broadcast(struct tw_cond *cond);

// Makes an unlocked lock, as TW_RWSEM_INIT does. Its memory may be freed as soon as nobody uses it, also right after
// the last unlock.
void tw_rwsem_init(struct tw_rwsem *sem);

// Acquires the lock for reading.
void tw_rwsem_read(struct tw_rwsem *sem);

// Acquires the lock for reading unless a writer has it or waits: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_tryread(struct tw_rwsem *sem);

// Acquires the lock for reading: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_read_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Acquires the lock for reading: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such
// clock.
TW_MUST_USE enum tw_result tw_rwsem_read_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Releases a read lock.
void tw_rwsem_unlock_read(struct tw_rwsem *sem);

// Acquires the lock for writing.
void tw_rwsem_write(struct tw_rwsem *sem);

// Acquires the lock for writing if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_trywrite(struct tw_rwsem *sem);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_write_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such
// clock.
TW_MUST_USE enum tw_result tw_rwsem_write_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Releases the write lock.
void tw_rwsem_unlock_write(struct tw_rwsem *sem);

// Turns the write lock into a read lock, and lets the readers in that wait.
void tw_rwsem_downgrade(struct tw_rwsem *sem);

// Acquires the lock for reading with the right to upgrade: beside readers, not beside another upgradable reader.
void tw_rwsem_upgradable(struct tw_rwsem *sem);

// Acquires the lock for upgradable reading if no writer and no upgradable reader has it: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_tryupgradable(struct tw_rwsem *sem);

// Acquires the lock for upgradable reading: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_upgradable_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Acquires the lock for upgradable reading: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there
// is no such clock.
TW_MUST_USE enum tw_result tw_rwsem_upgradable_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Releases the upgradable read lock.
void tw_rwsem_unlock_upgradable(struct tw_rwsem *sem);

// Turns the upgradable read lock into the write lock when the readers have left; no other enters meanwhile. The
// caller has no other read lock.
void tw_rwsem_upgrade(struct tw_rwsem *sem);

// Turns the upgradable read lock into the write lock if nobody else reads: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_tryupgrade(struct tw_rwsem *sem);

// Turns the upgradable read lock into the write lock; without success the caller has what it had: TW_OK, or
// TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_upgrade_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Turns the upgradable read lock into the write lock; without success the caller has what it had: TW_OK, or
// TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_rwsem_upgrade_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Turns the upgradable read lock into an ordinary one.
void tw_rwsem_downgrade_upgradable(struct tw_rwsem *sem);

// Turns the write lock into an upgradable read lock, and lets the readers in that wait.
void tw_rwsem_downgrade_to_upgradable(struct tw_rwsem *sem);

// Whether anybody has the lock at this moment: for assertions.
bool tw_rwsem_is_locked(const struct tw_rwsem *sem);

// Whether a writer has the lock at this moment: for assertions.
bool tw_rwsem_is_write_locked(const struct tw_rwsem *sem);

// Makes a free spin lock, as TW_SPINLOCK_INIT does.
void tw_spinlock_init(struct tw_spinlock *lock);

// Acquires the lock.
void tw_spinlock_lock(struct tw_spinlock *lock);

// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_spinlock_trylock(struct tw_spinlock *lock);

// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_spinlock_lock_for(struct tw_spinlock *lock, uint64_t timeout_ns);

// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_spinlock_lock_until(struct tw_spinlock *lock, int clock, uint64_t at_ns);

// Releases the lock, which the caller has.
void tw_spinlock_unlock(struct tw_spinlock *lock);

// Makes an unlocked lock, as TW_SEQRWLOCK_INIT does.
void tw_seqrwlock_init(struct tw_seqrwlock *lock);

// Begins an optimistic read, waiting while a writer is at the data; what to give to tw_seqrwlock_read_retry.
TW_MUST_USE uint64_t tw_seqrwlock_read_begin(const struct tw_seqrwlock *lock);

// Whether what was read since tw_seqrwlock_read_begin answered `begin` may be torn or mixed: begin again.
TW_MUST_USE bool tw_seqrwlock_read_retry(const struct tw_seqrwlock *lock, uint64_t begin);

// Begins a read of at most two passes, the first optimistic, the second with the lock held; if a writer stays at the
// data, the first pass holds the lock already. What to give to the two functions that follow:
//
//     uint64_t pass = tw_seqrwlock_begin_or_lock(&lock);
//     do
//         read();
//     while (tw_seqrwlock_retry_or_lock(&lock, &pass));
//     tw_seqrwlock_done(&lock, pass);
TW_MUST_USE uint64_t tw_seqrwlock_begin_or_lock(struct tw_seqrwlock *lock);

// Ends a pass. True: forget what was read and make another pass, the last, with the lock held. False: it was read
// whole; call tw_seqrwlock_done.
TW_MUST_USE bool tw_seqrwlock_retry_or_lock(struct tw_seqrwlock *lock, uint64_t *pass);

// Ends a read that tw_seqrwlock_begin_or_lock began: releases the lock if the last pass held it.
void tw_seqrwlock_done(struct tw_seqrwlock *lock, uint64_t pass);

// Shuts writers out: a blocking read, any number at a time. Optimistic reads are not disturbed.
void tw_seqrwlock_read(struct tw_seqrwlock *lock);

// Shuts writers out if none has the lock or waits: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_seqrwlock_tryread(struct tw_seqrwlock *lock);

// Shuts writers out: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_seqrwlock_read_for(struct tw_seqrwlock *lock, uint64_t timeout_ns);

// Shuts writers out: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_seqrwlock_read_until(struct tw_seqrwlock *lock, int clock, uint64_t at_ns);

// Ends a blocking read.
void tw_seqrwlock_unlock_read(struct tw_seqrwlock *lock);

// Shuts everybody else out, and spoils optimistic reads until tw_seqrwlock_unlock_write.
void tw_seqrwlock_write(struct tw_seqrwlock *lock);

// The same if nobody has the lock: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_seqrwlock_trywrite(struct tw_seqrwlock *lock);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_seqrwlock_write_for(struct tw_seqrwlock *lock, uint64_t timeout_ns);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such
// clock.
TW_MUST_USE enum tw_result tw_seqrwlock_write_until(struct tw_seqrwlock *lock, int clock, uint64_t at_ns);

// Ends the change, and lets others in.
void tw_seqrwlock_unlock_write(struct tw_seqrwlock *lock);

// Makes an unlocked one with so many references, as TW_LOCKREF_INIT does: TW_OK, or TW_INVALID above
// TW_REFERENCES_MAX.
enum tw_result tw_lockref_init(struct tw_lockref *lockref, uint32_t references);

// Adds a reference to those that the caller has.
void tw_lockref_get(struct tw_lockref *lockref);

// Adds a reference if there is any and the object is not dead; whether it did.
TW_MUST_USE bool tw_lockref_get_not_zero(struct tw_lockref *lockref);

// Adds a reference, also to none, unless the object is dead; whether it did.
TW_MUST_USE bool tw_lockref_get_not_dead(struct tw_lockref *lockref);

// Adds a reference like tw_lockref_get_not_zero: true. False: nothing changed and the caller has the lock; it may
// revive the object by tw_lockref_get_locked.
TW_MUST_USE bool tw_lockref_get_or_lock(struct tw_lockref *lockref);

// Gives a reference back; how many are left. Who gives the last one back sees what the others wrote before.
uint32_t tw_lockref_put(struct tw_lockref *lockref);

// Gives a reference back unless it is the last; whether it did.
TW_MUST_USE bool tw_lockref_put_not_last(struct tw_lockref *lockref);

// Gives a reference back: true. False: it is the last, the caller keeps it and has the lock, and can take the object
// out of wherever others find it, mark it dead, and then unlock.
TW_MUST_USE bool tw_lockref_put_or_lock(struct tw_lockref *lockref);

// Makes the object one that nobody can find any more: get_not_zero and get_or_lock add no reference from now on. The
// caller does not have the lock.
void tw_lockref_mark_dead(struct tw_lockref *lockref);

// The number of references at this moment.
uint32_t tw_lockref_count(const struct tw_lockref *lockref);

// Whether the object was marked dead.
bool tw_lockref_is_dead(const struct tw_lockref *lockref);

// Acquires the lock: nobody else can lock, nor change the count.
void tw_lockref_lock(struct tw_lockref *lockref);

// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_lockref_trylock(struct tw_lockref *lockref);

// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_lockref_lock_for(struct tw_lockref *lockref, uint64_t timeout_ns);

// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_lockref_lock_until(struct tw_lockref *lockref, int clock, uint64_t at_ns);

// Releases the lock, which the calling thread has.
void tw_lockref_unlock(struct tw_lockref *lockref);

// Adds a reference, also to none, by whoever has the lock; how many there were.
uint32_t tw_lockref_get_locked(struct tw_lockref *lockref);

// Gives a reference back, by whoever has the lock; how many are left.
uint32_t tw_lockref_put_locked(struct tw_lockref *lockref);

// As tw_lockref_mark_dead, by whoever has the lock.
void tw_lockref_mark_dead_locked(struct tw_lockref *lockref);

// Makes a semaphore with so many permits, as TW_SEMAPHORE_INIT does: TW_OK, or TW_INVALID above TW_PERMITS_MAX.
enum tw_result tw_semaphore_init(struct tw_semaphore *semaphore, uint32_t permits);

// Waits for `n` permits, and takes them at once: TW_OK, or TW_INVALID above TW_PERMITS_MAX.
enum tw_result tw_semaphore_acquire(struct tw_semaphore *semaphore, uint32_t n);

// Takes `n` permits if there are so many and nobody must be let go first: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_semaphore_tryacquire(struct tw_semaphore *semaphore, uint32_t n);

// Takes `n` permits: TW_OK, TW_TIMEDOUT after `timeout_ns` nanoseconds, or TW_INVALID above TW_PERMITS_MAX.
TW_MUST_USE enum tw_result tw_semaphore_acquire_for(struct tw_semaphore *semaphore, uint32_t n, uint64_t timeout_ns);

// Takes `n` permits: TW_OK, TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock, and for
// more than TW_PERMITS_MAX.
TW_MUST_USE
enum tw_result tw_semaphore_acquire_until(struct tw_semaphore *semaphore,
                                          uint32_t n,
                                          int clock,
                                          uint64_t at_ns);

// Adds `n` permits, new ones or those that were taken: TW_OK, or TW_OVERFLOW if there would be more than
// TW_PERMITS_MAX. (If several threads exceed the limit in the same instant, the process is aborted.) Any thread may
// call this, and a signal handler.
enum tw_result tw_semaphore_release(struct tw_semaphore *semaphore, uint32_t n);

// Permits to be had at this moment.
uint32_t tw_semaphore_available(const struct tw_semaphore *semaphore);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TURNWISE_H */

/* Static initialisers: unlocked, nobody waits. */
#define TW_MUTEX_INIT { { 0, 0 } }
#define TW_COND_INIT { { 0, 0, 0 } }
#define TW_RWSEM_INIT { { 0, 0, 0 } }
#define TW_SPINLOCK_INIT { 0 }
#define TW_SEQRWLOCK_INIT { { 0, 0, 0 } }
/* So many references, at most TW_REFERENCES_MAX. */
#define TW_LOCKREF_INIT(references) { (uint64_t)(references) << 32 }
/* So many permits, at most TW_PERMITS_MAX. */
#define TW_SEMAPHORE_INIT(permits) { (permits) }

/* What the library was built with. */
#ifdef __cplusplus
#define TW_ASSERT_LAYOUT(type, size, alignment)                                                                        \
    static_assert(sizeof(type) == (size) && alignof(type) == (alignment), "the library has another " #type)
#else
#define TW_ASSERT_LAYOUT(type, size, alignment)                                                                        \
    _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), "the library has another " #type)
#endif
TW_ASSERT_LAYOUT(tw_mutex, 8, 4);
TW_ASSERT_LAYOUT(tw_cond, 12, 4);
TW_ASSERT_LAYOUT(tw_rwsem, 12, 4);
TW_ASSERT_LAYOUT(tw_spinlock, 4, 4);
TW_ASSERT_LAYOUT(tw_seqrwlock, 24, 8);
TW_ASSERT_LAYOUT(tw_lockref, 8, 8);
TW_ASSERT_LAYOUT(tw_semaphore, 4, 4);

#if defined(__SANITIZE_THREAD__)
#include "turnwise_tsan.h"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include "turnwise_tsan.h"
#endif
#endif
