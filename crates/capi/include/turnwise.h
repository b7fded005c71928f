/*
 * Turnwise: adaptive locks. Waiters stand in a queue, spin only while the owner may be running, then sleep; every wait
 * is bounded except where it says otherwise.
 *
 * Generated from crates/capi/src by `cargo xtask header`; changes go there.
 *
 * What all functions require: each pointer points to an object of its type that was made by its _init function, its
 * _INIT initialiser, or zero bytes, and that lives until the call returns. An object that is in use is neither copied
 * nor moved. A lock is released by the thread that acquired it, or on its behalf by another thread that synchronises
 * with it.
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

// Major version of this header: programs built for a different one must be rebuilt.
#define TW_VERSION_MAJOR 0

// Minor version of this header.
#define TW_VERSION_MINOR 1

// Patch version of this header.
#define TW_VERSION_PATCH 0

// The clock that is never set back: CLOCK_MONOTONIC.
#define TW_CLOCK_MONOTONIC 0

// The wall clock, which can be set: CLOCK_REALTIME.
#define TW_CLOCK_REALTIME 1

// The maximum number of references of a `tw_lockref`.
#define TW_REFERENCES_MAX 2147483647

// The maximum number of permits of a semaphore.
#define TW_PERMITS_MAX 16777215

// The result of a function that may fail.
typedef enum tw_result {
    // The function did what it was asked to do.
    TW_OK = 0,
    // A try found the lock taken.
    TW_BUSY = 1,
    // The time was up before the lock was acquired, or before a signal came.
    TW_TIMEDOUT = 2,
    // An argument is out of its range; nothing was done.
    TW_INVALID = 3,
    // A count would exceed its limit; nothing was done.
    TW_OVERFLOW = 4,
} tw_result;

// The way in which threads wait for a lock.
typedef enum tw_wait_kind {
    // For a tw_mutex.
    TW_WAIT_MUTEX = 1,
    // For a tw_rwsem, to read.
    TW_WAIT_READ = 2,
    // For a tw_rwsem, to write.
    TW_WAIT_WRITE = 3,
} tw_wait_kind;

// A mutex. It is not recursive: a thread that locks it twice deadlocks. Waiters spin in a queue while the owner runs,
// then sleep; no waiter is overtaken for ever. Initialised by `TW_MUTEX_INIT` or zero bytes: unlocked.
typedef struct tw_mutex {
    // Private: programs do not access it.
    uint32_t opaque[2];
} tw_mutex;

// A condition variable for `tw_mutex`. A wait may wake up spuriously: check the condition again. Threads may wait
// with different mutexes, though one is quicker. Initialised by `TW_COND_INIT` or zero bytes: no thread waits.
typedef struct tw_cond {
    // Private: programs do not access it.
    uint32_t opaque[4];
} tw_cond;

// A readers-writer lock: many readers, or one writer; beside the readers one upgradable reader. Sleeping writers go
// before new readers, so a thread that holds it for reading must not acquire it again. Initialised by `TW_RWSEM_INIT`
// or zero bytes: unlocked.
typedef struct tw_rwsem {
    // Private: programs do not access it.
    uint32_t opaque[3];
} tw_rwsem;

// A spin lock: waiters poll, less and less often, and never sleep. For sections of a few instructions, with no more
// threads than CPUs; everywhere else use `tw_mutex`. Waiters acquire it in no particular order. Initialised by
// `TW_SPINLOCK_INIT` or zero bytes: free.
typedef struct tw_spinlock {
    // Private: programs do not access it.
    uint32_t opaque;
} tw_spinlock;

// A sequence lock with a second, blocking kind of reader. An optimistic reader writes nothing: it reads, and reads
// again if a writer interfered. It must read the data by atomic loads (relaxed ones suffice), since a writer may be
// changing them, and must not follow pointers in the data unless what they point to cannot be freed meanwhile.
// Initialised by `TW_SEQRWLOCK_INIT` or zero bytes: unlocked.
typedef struct tw_seqrwlock {
    // Private: programs do not access it.
    uint64_t opaque[3];
} tw_seqrwlock;

// A reference count and a lock in 8 bytes: the count changes without the lock while the lock is free. It only counts;
// what the count keeps alive is the program's business. One reference too many or too few aborts the process with a
// message instead of wrapping. Initialised by `TW_LOCKREF_INIT(references)`, or by zero bytes: unlocked, no
// references.
typedef struct tw_lockref {
    // Private: programs do not access it.
    uint64_t opaque;
} tw_lockref;

// A counting semaphore. A thread takes all the permits that it asks for at once, or waits; newcomers may overtake
// waiters, within bounds. Initialised by `TW_SEMAPHORE_INIT(permits)`, or by zero bytes: no permits.
typedef struct tw_semaphore {
    // Private: programs do not access it.
    uint32_t opaque;
} tw_semaphore;

// What the waits for one lock have come to since tw_stats_start; a tw_rwsem to read and to write is two. Calls that
// got the lock at once are not waits. Later versions may append fields.
typedef struct tw_lock_stats {
    // The lock: a tw_mutex or a tw_rwsem, which may be gone.
    const void *lock;
    // How threads wait for it.
    enum tw_wait_kind kind;
    // Threads that wait for it now.
    uint32_t waiting;
    // Waits that have ended.
    uint64_t waits;
    // Of these, waits that ended at their time limit.
    uint64_t gave_up;
    // Length of these waits together, in nanoseconds.
    uint64_t wait_ns;
    // Length of the longest.
    uint64_t longest_ns;
    // Sleeps of waiters.
    uint64_t sleeps;
    // Acquisitions past threads that slept.
    uint64_t steals;
    // Acquisitions by a hand-off.
    uint64_t handoffs;
    // The lengths of the waits: element n counts those of 2^n nanoseconds and more, below 2^(n+1); the first has
    // shorter ones, too, and the last longer ones.
    uint64_t histogram[32];
} tw_lock_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the library that the program runs with, such as "0.1.0". The text lives as long as the
// process.
const char *tw_version(void);

// Describes a result in a few words of English, for messages. The text lives as long as the process.
const char *tw_result_text(int result);

// Returns what a clock shows, in nanoseconds: TW_CLOCK_MONOTONIC or TW_CLOCK_REALTIME, for the `_until` functions; 0
// for any other number.
uint64_t tw_now_ns(int clock);

// Initialises an unlocked mutex, as TW_MUTEX_INIT does. There is no function to destroy one: its memory may be freed
// as soon as no thread uses it, even right after the last unlock.
void tw_mutex_init(struct tw_mutex *mutex);

// Acquires the mutex; waits until it is free. The calling thread must not hold it already.
void tw_mutex_lock(struct tw_mutex *mutex);

// Acquires the mutex if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_mutex_trylock(struct tw_mutex *mutex);

// Acquires the mutex: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_mutex_lock_for(struct tw_mutex *mutex, uint64_t timeout_ns);

// Acquires the mutex: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_mutex_lock_until(struct tw_mutex *mutex, int clock, uint64_t at_ns);

// Releases the mutex, which the calling thread holds.
void tw_mutex_unlock(struct tw_mutex *mutex);

// Releases the mutex to the thread that has slept for it longest, if one sleeps: slower, but newcomers cannot take
// it.
void tw_mutex_unlock_fair(struct tw_mutex *mutex);

// Returns whether the mutex is held at this moment: for assertions.
bool tw_mutex_is_locked(const struct tw_mutex *mutex);

// Initialises a condition variable on which no thread waits, as TW_COND_INIT does. Its memory may be freed when no
// thread is in a wait, nor in a `tw_cond_broadcast` that it calls without the mutex.
void tw_cond_init(struct tw_cond *cond);

// Releases `mutex`, which the caller holds, waits for a signal, and acquires the mutex again.
void tw_cond_wait(struct tw_cond *cond, struct tw_mutex *mutex);

// Waits like tw_cond_wait, for a limited time: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds. The caller
// holds the mutex either way.
enum tw_result tw_cond_wait_for(struct tw_cond *cond, struct tw_mutex *mutex, uint64_t timeout_ns);

// Waits like tw_cond_wait, until a point in time: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID
// at once if there is no such clock. The caller holds the mutex in any case.
enum tw_result tw_cond_wait_until(struct tw_cond *cond, struct tw_mutex *mutex, int clock, uint64_t at_ns);

// Wakes one waiting thread, if there is one: the one that has slept longest, but real-time threads first.
void tw_cond_signal(struct tw_cond *cond);

// Wakes all waiting threads: one at once and each of the others when the mutex is free for it; all at once if
// there were ever waiters with different mutexes.
void tw_cond_broadcast(struct tw_cond *cond);

// Initialises an unlocked lock, as TW_RWSEM_INIT does. Its memory may be freed as soon as no thread uses it, even
// right after the last unlock.
void tw_rwsem_init(struct tw_rwsem *sem);

// Acquires the lock for reading.
void tw_rwsem_read(struct tw_rwsem *sem);

// Acquires the lock for reading unless a writer holds it or waits: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_tryread(struct tw_rwsem *sem);

// Acquires the lock for reading: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_read_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Acquires the lock for reading: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no
// such clock.
TW_MUST_USE enum tw_result tw_rwsem_read_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Releases a read lock.
void tw_rwsem_unlock_read(struct tw_rwsem *sem);

// Acquires the lock for writing.
void tw_rwsem_write(struct tw_rwsem *sem);

// Acquires the lock for writing if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_trywrite(struct tw_rwsem *sem);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_write_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no
// such clock.
TW_MUST_USE enum tw_result tw_rwsem_write_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Releases the write lock.
void tw_rwsem_unlock_write(struct tw_rwsem *sem);

// Turns the write lock into a read lock, and lets waiting readers in.
void tw_rwsem_downgrade(struct tw_rwsem *sem);

// Acquires the lock for reading with the right to upgrade: beside readers, not beside another upgradable reader.
void tw_rwsem_upgradable(struct tw_rwsem *sem);

// Acquires the lock for upgradable reading if no writer and no upgradable reader holds it: TW_OK, or TW_BUSY at
// once.
TW_MUST_USE enum tw_result tw_rwsem_tryupgradable(struct tw_rwsem *sem);

// Acquires the lock for upgradable reading: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_rwsem_upgradable_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Acquires the lock for upgradable reading: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if
// there is no such clock.
TW_MUST_USE enum tw_result tw_rwsem_upgradable_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Releases the upgradable read lock.
void tw_rwsem_unlock_upgradable(struct tw_rwsem *sem);

// Turns the upgradable read lock into the write lock when the readers have left; no other reader enters meanwhile.
// The caller holds no other read lock.
void tw_rwsem_upgrade(struct tw_rwsem *sem);

// Turns the upgradable read lock into the write lock if there are no other readers: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_rwsem_tryupgrade(struct tw_rwsem *sem);

// Turns the upgradable read lock into the write lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds, and
// then the caller keeps the upgradable read lock.
TW_MUST_USE enum tw_result tw_rwsem_upgrade_for(struct tw_rwsem *sem, uint64_t timeout_ns);

// Turns the upgradable read lock into the write lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or
// TW_INVALID if there is no such clock. Without success the caller keeps the upgradable read lock.
TW_MUST_USE enum tw_result tw_rwsem_upgrade_until(struct tw_rwsem *sem, int clock, uint64_t at_ns);

// Turns the upgradable read lock into an ordinary read lock.
void tw_rwsem_downgrade_upgradable(struct tw_rwsem *sem);

// Turns the write lock into an upgradable read lock, and lets waiting readers in.
void tw_rwsem_downgrade_to_upgradable(struct tw_rwsem *sem);

// Returns whether the lock is held at this moment, for reading or writing: for assertions.
bool tw_rwsem_is_locked(const struct tw_rwsem *sem);

// Returns whether a writer holds the lock at this moment: for assertions.
bool tw_rwsem_is_write_locked(const struct tw_rwsem *sem);

// Initialises a free spin lock, as TW_SPINLOCK_INIT does.
void tw_spinlock_init(struct tw_spinlock *lock);

// Acquires the lock; spins until it is free.
void tw_spinlock_lock(struct tw_spinlock *lock);

// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_spinlock_trylock(struct tw_spinlock *lock);

// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_spinlock_lock_for(struct tw_spinlock *lock, uint64_t timeout_ns);

// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_spinlock_lock_until(struct tw_spinlock *lock, int clock, uint64_t at_ns);

// Releases the lock, which the caller holds.
void tw_spinlock_unlock(struct tw_spinlock *lock);

// Initialises an unlocked lock, as TW_SEQRWLOCK_INIT does.
void tw_seqrwlock_init(struct tw_seqrwlock *lock);

// Begins an optimistic read, waiting while a writer changes the data; returns the value that
// tw_seqrwlock_read_retry takes as `begin`.
TW_MUST_USE uint64_t tw_seqrwlock_read_begin(const struct tw_seqrwlock *lock);

// Returns whether a writer interfered since tw_seqrwlock_read_begin returned `begin`. If so, what was read may be
// inconsistent: begin again.
TW_MUST_USE bool tw_seqrwlock_read_retry(const struct tw_seqrwlock *lock, uint64_t begin);

// Begins a read of at most two passes, the first optimistic, the second with the lock held; if a writer is busy with
// the data for long, the first pass holds the lock already. Returns the value that the next two functions take:
//
//     uint64_t pass = tw_seqrwlock_begin_or_lock(&lock);
//     do
//         read();
//     while (tw_seqrwlock_retry_or_lock(&lock, &pass));
//     tw_seqrwlock_done(&lock, pass);
TW_MUST_USE uint64_t tw_seqrwlock_begin_or_lock(struct tw_seqrwlock *lock);

// Ends a pass. Returns true if a writer interfered: discard what was read and make another pass, the last, with the
// lock held. Returns false if what was read is consistent: call tw_seqrwlock_done.
TW_MUST_USE bool tw_seqrwlock_retry_or_lock(struct tw_seqrwlock *lock, uint64_t *pass);

// Ends a read that tw_seqrwlock_begin_or_lock began: releases the lock if the last pass holds it.
void tw_seqrwlock_done(struct tw_seqrwlock *lock, uint64_t pass);

// Begins a blocking read, which excludes writers; any number of them may overlap. Optimistic reads are not
// disturbed.
void tw_seqrwlock_read(struct tw_seqrwlock *lock);

// Begins a blocking read if no writer holds the lock or waits: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_seqrwlock_tryread(struct tw_seqrwlock *lock);

// Begins a blocking read: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_seqrwlock_read_for(struct tw_seqrwlock *lock, uint64_t timeout_ns);

// Begins a blocking read: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such
// clock.
TW_MUST_USE enum tw_result tw_seqrwlock_read_until(struct tw_seqrwlock *lock, int clock, uint64_t at_ns);

// Ends a blocking read.
void tw_seqrwlock_unlock_read(struct tw_seqrwlock *lock);

// Acquires the lock for writing: excludes writers and blocking readers, and makes optimistic reads fail until
// tw_seqrwlock_unlock_write.
void tw_seqrwlock_write(struct tw_seqrwlock *lock);

// Acquires the lock for writing if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_seqrwlock_trywrite(struct tw_seqrwlock *lock);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_seqrwlock_write_for(struct tw_seqrwlock *lock, uint64_t timeout_ns);

// Acquires the lock for writing: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no
// such clock.
TW_MUST_USE enum tw_result tw_seqrwlock_write_until(struct tw_seqrwlock *lock, int clock, uint64_t at_ns);

// Releases the write lock: ends the change of the data.
void tw_seqrwlock_unlock_write(struct tw_seqrwlock *lock);

// Initialises an unlocked `tw_lockref` with `references` references, as TW_LOCKREF_INIT does: TW_OK, or TW_INVALID
// above TW_REFERENCES_MAX.
enum tw_result tw_lockref_init(struct tw_lockref *lockref, uint32_t references);

// Adds a reference; the caller already has one.
void tw_lockref_get(struct tw_lockref *lockref);

// Adds a reference if the count is not 0 and the object is not dead; returns whether it did.
TW_MUST_USE bool tw_lockref_get_not_zero(struct tw_lockref *lockref);

// Adds a reference, even if the count is 0, unless the object is dead; returns whether it did.
TW_MUST_USE bool tw_lockref_get_not_dead(struct tw_lockref *lockref);

// Adds a reference like tw_lockref_get_not_zero and returns true, or changes nothing, acquires the lock and
// returns false: the caller may then revive the object by tw_lockref_get_locked.
TW_MUST_USE bool tw_lockref_get_or_lock(struct tw_lockref *lockref);

// Drops a reference and returns how many are left. The thread that drops the last one sees what the others wrote
// before they dropped theirs.
uint32_t tw_lockref_put(struct tw_lockref *lockref);

// Drops a reference unless it is the last; returns whether it did.
TW_MUST_USE bool tw_lockref_put_not_last(struct tw_lockref *lockref);

// Drops a reference and returns true unless it is the last. Otherwise returns false: the caller keeps the
// reference and holds the lock, and can take the object out of wherever others find it, mark it dead, and then
// unlock.
TW_MUST_USE bool tw_lockref_put_or_lock(struct tw_lockref *lockref);

// Marks the object dead: get_not_zero, get_not_dead and get_or_lock add no reference from now on. The caller does
// not hold the lock.
void tw_lockref_mark_dead(struct tw_lockref *lockref);

// Returns the number of references at this moment.
uint32_t tw_lockref_count(const struct tw_lockref *lockref);

// Returns whether the object has been marked dead.
bool tw_lockref_is_dead(const struct tw_lockref *lockref);

// Acquires the lock: no other thread can lock, nor change the count.
void tw_lockref_lock(struct tw_lockref *lockref);

// Acquires the lock if it is free: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_lockref_trylock(struct tw_lockref *lockref);

// Acquires the lock: TW_OK, or TW_TIMEDOUT after `timeout_ns` nanoseconds.
TW_MUST_USE enum tw_result tw_lockref_lock_for(struct tw_lockref *lockref, uint64_t timeout_ns);

// Acquires the lock: TW_OK, or TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock.
TW_MUST_USE enum tw_result tw_lockref_lock_until(struct tw_lockref *lockref, int clock, uint64_t at_ns);

// Releases the lock, which the calling thread holds.
void tw_lockref_unlock(struct tw_lockref *lockref);

// Adds a reference, even if the count is 0, and returns how many there were. The caller holds the lock.
uint32_t tw_lockref_get_locked(struct tw_lockref *lockref);

// Drops a reference and returns how many are left. The caller holds the lock.
uint32_t tw_lockref_put_locked(struct tw_lockref *lockref);

// Marks the object dead, like tw_lockref_mark_dead. The caller holds the lock.
void tw_lockref_mark_dead_locked(struct tw_lockref *lockref);

// Initialises a semaphore with `permits` permits, as TW_SEMAPHORE_INIT does: TW_OK, or TW_INVALID above
// TW_PERMITS_MAX.
enum tw_result tw_semaphore_init(struct tw_semaphore *semaphore, uint32_t permits);

// Waits for `n` permits, and takes them all at once: TW_OK, or TW_INVALID above TW_PERMITS_MAX.
enum tw_result tw_semaphore_acquire(struct tw_semaphore *semaphore, uint32_t n);

// Takes `n` permits if that many are available and no waiter must go first: TW_OK, or TW_BUSY at once.
TW_MUST_USE enum tw_result tw_semaphore_tryacquire(struct tw_semaphore *semaphore, uint32_t n);

// Takes `n` permits: TW_OK, TW_TIMEDOUT after `timeout_ns` nanoseconds, or TW_INVALID above TW_PERMITS_MAX.
TW_MUST_USE enum tw_result tw_semaphore_acquire_for(struct tw_semaphore *semaphore, uint32_t n, uint64_t timeout_ns);

// Takes `n` permits: TW_OK, TW_TIMEDOUT when `clock` shows `at_ns`, or TW_INVALID if there is no such clock or `n`
// is above TW_PERMITS_MAX.
TW_MUST_USE
enum tw_result tw_semaphore_acquire_until(struct tw_semaphore *semaphore,
                                          uint32_t n,
                                          int clock,
                                          uint64_t at_ns);

// Adds `n` permits, new ones or ones taken before: TW_OK, or TW_OVERFLOW if there would be more than TW_PERMITS_MAX.
// (If several threads exceed the limit in the same instant, the process is aborted.) Any thread may call this, and so
// may a signal handler.
enum tw_result tw_semaphore_release(struct tw_semaphore *semaphore, uint32_t n);

// Returns the number of permits available at this moment.
uint32_t tw_semaphore_available(const struct tw_semaphore *semaphore);

// Counts waits for this program's locks of type tw_mutex and tw_rwsem from now on, in a file that its owner alone can
// read: `turnwise top`, `why` and `tune` work on the program. Uncontended locks cost the same; a wait costs some tens
// of nanoseconds more. TW_INVALID: the environment says TURNWISE_LIVE=0, or the program runs under `turnwise run`,
// which counts its pthread locks there. Calls after the first return the same.
enum tw_result tw_stats_start(void);

// Calls `each` with every lock for which threads have waited or wait, the one with most wait time first, and with
// `context`. The statistics live until `each` returns; it may use locks, also those. This function reads a file and
// allocates memory: it is for once a second, not for each request. TW_INVALID: `each` is null, tw_stats_start was not
// called or did not return TW_OK, or the file cannot be read. Without a wait so far it calls nothing.
TW_MUST_USE enum tw_result tw_stats_each(void (*each)(const struct tw_lock_stats *lock, void *context), void *context);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TURNWISE_H */

/* Static initialisers: unlocked, without waiters. */
#define TW_MUTEX_INIT { { 0, 0 } }
#define TW_COND_INIT { { 0, 0, 0 } }
#define TW_RWSEM_INIT { { 0, 0, 0 } }
#define TW_SPINLOCK_INIT { 0 }
#define TW_SEQRWLOCK_INIT { { 0, 0, 0 } }
/* Initialises a `tw_lockref` with this number of references, at most TW_REFERENCES_MAX. */
#define TW_LOCKREF_INIT(references) { (uint64_t)(references) << 32 }
/* Initialises a `tw_semaphore` with this number of permits, at most TW_PERMITS_MAX. */
#define TW_SEMAPHORE_INIT(permits) { (permits) }

/* The layouts that the library was built with. */
#ifdef __cplusplus
#define TW_ASSERT_LAYOUT(type, size, alignment)                                                                        \
    static_assert(sizeof(type) == (size) && alignof(type) == (alignment), "the library has a different " #type)
#else
#define TW_ASSERT_LAYOUT(type, size, alignment)                                                                        \
    _Static_assert(sizeof(type) == (size) && _Alignof(type) == (alignment), "the library has a different " #type)
#endif
TW_ASSERT_LAYOUT(tw_mutex, 8, 4);
TW_ASSERT_LAYOUT(tw_cond, 16, 4);
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
