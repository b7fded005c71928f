/* Calls that POSIX leaves undefined, on every kind of mutex and on what goes with it. The measure is the C library.
   What would corrupt the C library's object is asked of the locks under test only. What is defined is in the other
   programs: relocking and unlocking of mutexes that know their owner, EDEADLK to writers, destroy of a mutex in use. */
#include "mutex.h"

#define PLAIN_ONE (KINDS[variant].type == PLAIN && !KINDS[variant].owned)
/* Whether it is the C library's object also where the library under test is loaded. */
#define PASSES (KINDS[variant].owned || KINDS[variant].shared)
#define OURS(wanted) (getenv("TURNWISE_LOCK") && variant == 0 ? (wanted) : SKIP)

/* Mutexes are never freed: some are still locked in the end, and the C library keeps a list of the robust ones. */
#define FREE(m)                                                                                                        \
    pthread_mutex_t *m = malloc(sizeof *m);                                                                            \
    STEP(make(variant, m))

SENTENCE(unlocks_of_a_free_plain_mutex, PLAIN_ONE ? 0 : SKIP, "They do nothing, and it works as before.")
{
    FREE(m);
    STEP(unlock(m));
    STEP(unlock(m));
    STEP(elsewhere(lock_unlock, m));
    STEP(unlock(m));
    STEP(lock(m));
    if (elsewhere(try_lock, m) != EBUSY || elsewhere(soon_wall, m) != ETIMEDOUT)
        return NO;
    STEP(unlock(m));
    return elsewhere(try_unlock, m);
}

SENTENCE(unlock_by_a_former_owner, PLAIN_ONE ? 0 : SKIP, "It takes a plain mutex from the next owner.")
{
    struct call c;
    FREE(m);
    STEP(lock_unlock(m));
    begin(&c, lock, m);
    STEP(end(&c));
    STEP(unlock(m));
    STEP(elsewhere(try_lock, m));
    return elsewhere(unlock, m);
}

SENTENCE(owner_that_exits, KINDS[variant].owned ? OPEN : EBUSY, "Its mutex stays locked, unless it is robust.")
{
    FREE(m);
    STEP(elsewhere(lock, m));
    return try_lock(m);
}

SENTENCE(unlock_after_the_owners_exit, PASSES ? OPEN : BY_TYPE(0, EPERM, EPERM), "A plain mutex can be unlocked.")
{
    FREE(m);
    STEP(elsewhere(lock, m));
    return unlock(m);
}

static int lock_twice(void *m)
{
    STEP(lock(m));
    return lock(m);
}

/* A child's status: whether a thread is still in the call after a while. The child ends with it. */
static int hangs(int (*function)(void *), void *argument, int whiles)
{
    struct call c;
    begin(&c, function, argument);
    for (; whiles > 0 && !is_done(&c); whiles--)
        sleep_ns(10 * SOON);
    return !is_done(&c);
}

static int hangs_locked_twice(void *m)
{
    return hangs(lock_twice, m, 1);
}

/* It may have to wait for a CPU. */
static int hangs_for_long(void *m)
{
    return hangs(lock_twice, m, 50);
}

SENTENCE(locked_twice, BY_TYPE(YES, NO, NO), "The owner of a plain mutex waits for itself.")
{
    FREE(m);
    return yes_if(in_child(KINDS[variant].type == PLAIN ? hangs_locked_twice : hangs_for_long, m) == 1);
}

SENTENCE(destroy_while_one_waits_for_it, OPEN, "Refused where the C library refuses it, and the waiter goes on.")
{
    struct call c;
    FREE(m);
    STEP(lock(m));
    begin(&c, lock_unlock, m);
    sleep_ns(SOON);
    int answer = KINDS[variant].robust ? EBUSY : pthread_mutex_destroy(m);
    STEP(unlock(m));
    STEP(end(&c));
    return answer;
}

static int wait_soon(pthread_mutex_t *m)
{
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    struct timespec at = in_ns(CLOCK_REALTIME, SOON);
    int answer;
    while ((answer = pthread_cond_timedwait(&changed, m, &at)) == 0) {
    }
    return answer;
}

SENTENCE(wait_without_a_plain_mutex, PLAIN_ONE ? ETIMEDOUT : SKIP, "The wait ends as others do, with the mutex.")
{
    FREE(m);
    int answer = wait_soon(m);
    return elsewhere(try_lock, m) == EBUSY && unlock(m) == 0 ? answer : NO;
}

SENTENCE(wait_with_anothers_plain_mutex, PLAIN_ONE ? ETIMEDOUT : SKIP, "It takes the mutex from its owner.")
{
    FREE(m);
    STEP(elsewhere(lock, m));
    int answer = wait_soon(m);
    return elsewhere(try_lock, m) == EBUSY && unlock(m) == 0 ? answer : NO;
}

struct waiter {
    pthread_cond_t *changed;
    pthread_mutex_t mutex;
    int *flag, waits;
};

static int wait_for_flag(void *argument)
{
    struct waiter *w = argument;
    STEP(lock(&w->mutex));
    __atomic_store_n(&w->waits, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(w->flag, __ATOMIC_SEQ_CST))
        STEP(pthread_cond_wait(w->changed, &w->mutex));
    return unlock(&w->mutex);
}

static void until_it_waits(struct waiter *w)
{
    while (!__atomic_load_n(&w->waits, __ATOMIC_SEQ_CST))
        sched_yield();
    MUST(lock_unlock(&w->mutex) == 0);
}

SENTENCE(waits_with_two_mutexes_at_a_time, 0, "A broadcast reaches both waiters.")
{
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int flag = 0;
    struct call c[2];
    struct waiter *w = calloc(2, sizeof *w);
    for (int i = 0; i < 2; i++) {
        w[i].changed = &changed;
        w[i].flag = &flag;
        STEP(make(variant, &w[i].mutex));
        begin(&c[i], wait_for_flag, &w[i]);
        until_it_waits(&w[i]);
    }
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    STEP(pthread_cond_broadcast(&changed));
    STEP(end(&c[0]));
    return end(&c[1]);
}

static int destroy_cond(void *c)
{
    return pthread_cond_destroy(c);
}

SENTENCE(destroy_of_a_waited_condition, YES, "It waits until the waiter has gone.")
{
    pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    int flag = 0;
    struct call c, destroyer;
    struct waiter *w = calloc(1, sizeof *w);
    w->changed = &changed;
    w->flag = &flag;
    STEP(make(variant, &w->mutex));
    begin(&c, wait_for_flag, w);
    until_it_waits(w);
    int waited = waits(&destroyer, destroy_cond, &changed);
    __atomic_store_n(&flag, 1, __ATOMIC_SEQ_CST);
    STEP(pthread_cond_broadcast(&changed));
    STEP(end(&c));
    STEP(end(&destroyer));
    return yes_if(waited);
}

static int rwlock_read(void *l)
{
    return pthread_rwlock_rdlock(l);
}

static int rwlock_write(void *l)
{
    return pthread_rwlock_wrlock(l);
}

static int rwlock_try_write(void *l)
{
    return pthread_rwlock_trywrlock(l);
}

static int rwlock_unlock(void *l)
{
    return pthread_rwlock_unlock(l);
}

static int hangs_read_then_write(void *l)
{
    return rwlock_read(l) == 0 && hangs(rwlock_write, l, 1);
}

SENTENCE(write_under_ones_own_read, ONCE(YES), "The reader waits for itself.")
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    return yes_if(in_child(hangs_read_then_write, &l) == 1);
}

SENTENCE(reader_that_exits, ONCE(EBUSY), "Its read lock stays.")
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    STEP(elsewhere(rwlock_read, &l));
    return rwlock_try_write(&l);
}

SENTENCE(read_unlock_by_another, ONCE(0), "It ends the read lock.")
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    STEP(rwlock_read(&l));
    STEP(elsewhere(rwlock_unlock, &l));
    return rwlock_try_write(&l);
}

SENTENCE(writer_that_exits, ONCE(EBUSY), "Its write lock stays.")
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    STEP(elsewhere(rwlock_write, &l));
    return rwlock_try_write(&l);
}

/* The C library takes what follows for the end of a read lock, and counts one reader too few from then on. */
SENTENCE(write_unlock_by_another, OURS(0), "It ends the write lock.")
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    STEP(rwlock_write(&l));
    STEP(elsewhere(rwlock_unlock, &l));
    STEP(elsewhere(rwlock_try_write, &l));
    return elsewhere(rwlock_unlock, &l);
}

SENTENCE(unlock_of_a_free_rwlock, OURS(EPERM), "Nobody has it: nothing happens.")
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    if (rwlock_unlock(&l) != EPERM || rwlock_read(&l) != 0 || rwlock_unlock(&l) != 0)
        return NO;
    int answer = rwlock_unlock(&l);
    STEP(rwlock_try_write(&l));
    STEP(rwlock_unlock(&l));
    return rwlock_unlock(&l) == EPERM ? answer : NO;
}

static pthread_spinlock_t spin;

static int spin_lock(void *unused)
{
    (void)unused;
    return pthread_spin_lock(&spin);
}

static int hangs_spin_twice(void *unused)
{
    return spin_lock(unused) == 0 && hangs(spin_lock, unused, 1);
}

SENTENCE(spin_lock_twice, ONCE(YES), "The owner spins for itself.")
{
    STEP(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    return yes_if(in_child(hangs_spin_twice, NULL) == 1);
}

SENTENCE(unlock_of_a_free_spin_lock, ONCE(0), "It does nothing.")
{
    STEP(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
    STEP(pthread_spin_unlock(&spin));
    STEP(pthread_spin_lock(&spin));
    STEP(pthread_spin_unlock(&spin));
    STEP(pthread_spin_unlock(&spin));
    return pthread_spin_trylock(&spin);
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
