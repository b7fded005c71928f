/* The locks of kinds.h: POSIX's, and some that are wrong on purpose, so that the driver is seen to catch them. */
#include "kinds.h"
#include <linux/futex.h>

struct pair pair;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int robust;

void begin(int me)
{
    if (pair.inside++ || pair.first != pair.second)
        atomic_fetch_add(&board->broken, 1);
    atomic_store_explicit(&board->holder, atomic_load_explicit(&board->line[me].tid, memory_order_relaxed),
                          memory_order_relaxed);
    pair.first++;
    atomic_fetch_add_explicit(&board->line[me].done, 1, memory_order_relaxed);
}

void end(void)
{
    pair.second++;
    pair.inside--;
    atomic_store_explicit(&board->holder, 0, memory_order_relaxed);
}

/* mutex, recursive, timed, robust */

static void mutex_enter(int me)
{
    (void)me;
    EXPECT(pthread_mutex_lock(&mutex), 0);
}

static void mutex_leave(int me)
{
    (void)me;
    EXPECT(pthread_mutex_unlock(&mutex), 0);
}

static int mutex_try(void)
{
    return pthread_mutex_trylock(&mutex) == 0;
}

static int mutex_until(const struct timespec *time)
{
    return pthread_mutex_timedlock(&mutex, time);
}

static void recursive_enter(int me)
{
    mutex_enter(me);
    mutex_enter(me);
}

static void recursive_leave(int me)
{
    mutex_leave(me);
    mutex_leave(me);
}

/* Counted up before and after each step of the wall clock. */
static uint64_t clock_steps(void)
{
    return atomic_load(&board->states[CLOCK_STEPS]);
}

/* A wait until `until`, begun after so many steps, answers ETIMEDOUT: is it then? */
static void expect_past(const struct timespec *until, uint64_t steps, const char *call)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int early = now.tv_sec < until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec < until->tv_nsec);
    if (early && steps % 2 == 0 && steps == clock_steps())
        WRONG("%s answers ETIMEDOUT too early", call);
}

/* Waits in pieces that end before their time, or not. */
static void in_pieces(int (*wait)(const struct timespec *), const char *call, uint32_t *seed)
{
    for (;;) {
        uint64_t steps = clock_steps();
        struct timespec soon = in_us(chance(seed) % 300);
        int answer = wait(&soon);
        if (answer == 0)
            return;
        if (answer == ETIMEDOUT)
            expect_past(&soon, steps, call);
        else
            WRONG("%s answers %d", call, answer);
    }
}

static void timed_enter(int me)
{
    uint32_t seed = me + 1;
    in_pieces(mutex_until, "pthread_mutex_timedlock", &seed);
}

/* Whoever had it may have ended in the middle of an update. */
static void robust_enter(int me)
{
    (void)me;
    int answer = pthread_mutex_lock(&mutex);
    if (answer == EOWNERDEAD) {
        pair.second = pair.first;
        pair.inside = 0;
        EXPECT(pthread_mutex_consistent(&mutex), 0);
    } else if (answer != 0) {
        WRONG("pthread_mutex_lock of a robust mutex answers %d", answer);
    }
}

/* rwlock: three readings before each update */

static void rwlock_enter(int me)
{
    (void)me;
    for (int i = 0; i < 3; i++) {
        EXPECT(pthread_rwlock_rdlock(&rwlock), 0);
        if (pair.inside || pair.first != pair.second)
            WRONG("a reader beside a writer");
        EXPECT(pthread_rwlock_unlock(&rwlock), 0);
    }
    EXPECT(pthread_rwlock_wrlock(&rwlock), 0);
}

static void wrlock_enter(int me)
{
    (void)me;
    EXPECT(pthread_rwlock_wrlock(&rwlock), 0);
}

static void rwlock_leave(int me)
{
    (void)me;
    EXPECT(pthread_rwlock_unlock(&rwlock), 0);
}

static int rwlock_try(void)
{
    return pthread_rwlock_trywrlock(&rwlock) == 0;
}

static int rwlock_until(const struct timespec *time)
{
    return pthread_rwlock_timedwrlock(&rwlock, time);
}

static int rwlock_read_until(const struct timespec *time)
{
    return pthread_rwlock_timedrdlock(&rwlock, time);
}

static void timed_rwlock_enter(int me)
{
    uint32_t seed = me + 1;
    in_pieces(rwlock_read_until, "pthread_rwlock_timedrdlock", &seed);
    if (pair.inside || pair.first != pair.second)
        WRONG("a reader beside a writer");
    EXPECT(pthread_rwlock_unlock(&rwlock), 0);
    in_pieces(rwlock_until, "pthread_rwlock_timedwrlock", &seed);
}

/* cond: threads in pairs that take turns, so that one lost signal is a hang; all under one mutex */

static struct {
    pthread_cond_t changed;
    int turn;
} rings[THREADS / 2];
static int rings_used;

static void unlock_mutex(void *unused)
{
    (void)unused;
    EXPECT(pthread_mutex_unlock(&mutex), 0);
}

static void cond_enter(int me)
{
    mutex_enter(me);
    pthread_cleanup_push(unlock_mutex, NULL);
    while (rings[me / 2].turn != me % 2 && going())
        EXPECT(pthread_cond_wait(&rings[me / 2].changed, &mutex), 0);
    pthread_cleanup_pop(0);
}

static void timed_cond_enter(int me)
{
    static _Thread_local uint32_t seed;
    seed += seed == 0 ? (uint32_t)me + 1 : 0;
    mutex_enter(me);
    pthread_cleanup_push(unlock_mutex, NULL);
    while (rings[me / 2].turn != me % 2 && going()) {
        uint64_t steps = clock_steps();
        struct timespec soon = in_us(chance(&seed) % 3000);
        int answer = pthread_cond_timedwait(&rings[me / 2].changed, &mutex, &soon);
        if (answer == ETIMEDOUT)
            expect_past(&soon, steps, "pthread_cond_timedwait");
        else if (answer != 0)
            WRONG("pthread_cond_timedwait answers %d", answer);
    }
    pthread_cleanup_pop(0);
}

static void cond_leave(int me)
{
    rings[me / 2].turn = !(me % 2);
    EXPECT(pthread_cond_signal(&rings[me / 2].changed), 0);
    mutex_leave(me);
}

/* spin */

static void spin_enter(int me)
{
    (void)me;
    EXPECT(pthread_spin_lock(&spin), 0);
}

static void spin_leave(int me)
{
    (void)me;
    EXPECT(pthread_spin_unlock(&spin), 0);
}

static int spin_try(void)
{
    return pthread_spin_trylock(&spin) == 0;
}

/* Wrong on purpose. 0: free, 1: held, 2: held and somebody may sleep. */

static _Atomic uint32_t word;

static long futex(_Atomic uint32_t *at, int op, uint32_t value)
{
    return syscall(SYS_futex, at, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* Takes every end of its sleep for the lock, which the one who releases it leaves to it. */
static void trusting_enter(int me)
{
    (void)me;
    uint32_t free = 0;
    if (atomic_compare_exchange_strong(&word, &free, 1))
        return;
    while (atomic_exchange(&word, 2) != 0)
        if (futex(&word, FUTEX_WAIT, 2) != 0 && errno == EINTR)
            return;
}

static void plain_leave(int me)
{
    (void)me;
    if (atomic_exchange(&word, 0) == 2)
        futex(&word, FUTEX_WAKE, 1);
}

/* Turns as with cond, by a count of changes that a waiter reads too late: after it released the mutex. */
static _Atomic uint32_t changes[THREADS / 2];

static void late_enter(int me)
{
    mutex_enter(me);
    while (rings[me / 2].turn != me % 2 && going()) {
        mutex_leave(me);
        sched_yield();
        futex(&changes[me / 2], FUTEX_WAIT, atomic_load(&changes[me / 2]));
        mutex_enter(me);
    }
}

static void late_leave(int me)
{
    rings[me / 2].turn = !(me % 2);
    atomic_fetch_add(&changes[me / 2], 1);
    futex(&changes[me / 2], FUTEX_WAKE, 1);
    mutex_leave(me);
}

/* Forgets its update now and then. */
static void forgetful_leave(int me)
{
    if (atomic_load(&board->line[me].done) % 1000 == 999) {
        pair.first--;
        pair.second--;
    }
    mutex_leave(me);
}

const struct kind kinds[] = {
    {"mutex", mutex_enter, mutex_leave, mutex_try, mutex_until},
    {"recursive", recursive_enter, recursive_leave, NULL, mutex_until},
    {"timed", timed_enter, mutex_leave, mutex_try, mutex_until},
    {"robust", robust_enter, mutex_leave, NULL, NULL},
    {"rwlock", rwlock_enter, rwlock_leave, rwlock_try, rwlock_until},
    {"writers-first", rwlock_enter, rwlock_leave, rwlock_try, rwlock_until},
    {"wrlock", wrlock_enter, rwlock_leave, rwlock_try, rwlock_until},
    {"cond", cond_enter, cond_leave, NULL, NULL},
    {"timed-rwlock", timed_rwlock_enter, rwlock_leave, NULL, NULL},
    {"timed-cond", timed_cond_enter, cond_leave, NULL, NULL},
    {"spin", spin_enter, spin_leave, spin_try, NULL},
    {"broken-trusting", trusting_enter, plain_leave, NULL, NULL},
    {"broken-late", late_enter, late_leave, NULL, NULL},
    {"broken-forgetful", mutex_enter, forgetful_leave, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct kind *kind_of(const char *name)
{
    for (const struct kind *kind = kinds; kind->name; kind++)
        if (strcmp(kind->name, name) == 0)
            return kind;
    fprintf(stderr, "no kind of lock is called %s\n", name);
    exit(2);
}

void kinds_start(const char *name, int threads)
{
    pthread_mutexattr_t attributes;
    EXPECT(pthread_mutexattr_init(&attributes), 0);
    if (strcmp(name, "recursive") == 0)
        EXPECT(pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE), 0);
    robust = strcmp(name, "robust") == 0;
    if (robust)
        EXPECT(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
    EXPECT(pthread_mutex_init(&mutex, &attributes), 0);
    pthread_rwlockattr_t kind;
    EXPECT(pthread_rwlockattr_init(&kind), 0);
    if (strcmp(name, "writers-first") == 0)
        EXPECT(pthread_rwlockattr_setkind_np(&kind, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), 0);
    EXPECT(pthread_rwlock_init(&rwlock, &kind), 0);
    EXPECT(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), 0);
    rings_used = strstr(name, "cond") ? (threads + 1) / 2 : 0;
    for (int i = 0; i < rings_used; i++)
        EXPECT(pthread_cond_init(&rings[i].changed, NULL), 0);
}

void kinds_stir(void)
{
    for (int i = 0; i < rings_used; i++) {
        EXPECT(pthread_mutex_lock(&mutex), 0);
        EXPECT(pthread_cond_broadcast(&rings[i].changed), 0);
        EXPECT(pthread_mutex_unlock(&mutex), 0);
    }
}

void kinds_repair(void)
{
    if (!robust)
        return;
    robust_enter(0);
    mutex_leave(0);
}
