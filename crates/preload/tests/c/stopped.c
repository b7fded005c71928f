/* A thread that only waits for a lock is held in a signal handler, as collectors that stop the world and checkpoint
   libraries do. It may have been promised the next turn: the others go on with the lock all the same. */
#include "check.h"
#include <signal.h>

static pthread_mutex_t mutex;
static pthread_rwlock_t shared;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int stopped, goes_on, waits, has_it;

static void stop(int signal)
{
    (void)signal;
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&goes_on, __ATOMIC_RELAXED))
        sleep_ms(1);
}

static void hangs(int signal)
{
    static const char text[] = "the lock is free, and nobody but a stopped waiter may take it\n";
    (void)signal;
    (void)!write(2, text, sizeof text - 1);
    _exit(1);
}

/* How the waiter waits for a lock, and how the others come and go. */
struct way {
    void (*wait)(void), (*lock)(void), (*unlock)(void);
};

static void lock(void)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
}

static void unlock(void)
{
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
}

static int try(void)
{
    return pthread_mutex_trylock(&mutex);
}

static void lock_in_time(void)
{
    struct timespec late = in_ns(CLOCK_REALTIME, 60000LL * MS);
    CHECK_EQ(pthread_mutex_timedlock(&mutex, &late), 0);
}

/* With less time each than a promise has. */
static void lock_in_parts(void)
{
    int result;
    do {
        struct timespec soon = in_ns(CLOCK_REALTIME, 5 * MS);
        result = pthread_mutex_timedlock(&mutex, &soon);
    } while (result == ETIMEDOUT);
    CHECK_EQ(result, 0);
}

static void lock_by_tries(void)
{
    while (try() == EBUSY)
        sleep_ms(1);
}

static void lock_after_wait(void)
{
    lock();
    __atomic_store_n(&waits, 1, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
}

static void *waiter(void *argument)
{
    const struct way *way = argument;
    way->wait();
    __atomic_store_n(&has_it, 1, __ATOMIC_RELAXED);
    way->unlock();
    return NULL;
}

static int has(int *flag)
{
    return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

/* The waiter is woken in vain, and stopped; whether it was slow enough for that. */
static int stop_in_wait(const struct way *way)
{
    stopped = goes_on = waits = has_it = 0;
    if (way->wait != lock_after_wait)
        way->lock();
    pthread_t thread = start(waiter, (void *)way);
    if (way->wait == lock_after_wait) {
        while (!has(&waits))
            sleep_ms(1);
        way->lock();
        CHECK_EQ(pthread_cond_signal(&cond), 0);
    }
    sleep_ms(10);
    way->unlock();
    way->lock();
    sleep_ms(10);
    /* The C library hands a readers-writer lock over, also to who is stopped then. */
    int is_late = !has(&has_it) && (preloaded() || way->unlock == unlock);
    if (is_late) {
        CHECK_EQ(pthread_kill(thread, SIGUSR1), 0);
        while (!has(&stopped))
            sleep_ms(1);
        alarm(60);
        way->unlock();
        way->lock();
        alarm(0);
        __atomic_store_n(&goes_on, 1, __ATOMIC_RELAXED);
    }
    way->unlock();
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return is_late;
}

static void check(const struct way *way)
{
    int seen = 0;
    for (int i = 0; i < 20 && seen == 0; i++)
        seen += stop_in_wait(way);
    CHECK(seen > 0 || !preloaded()); /* the C library hands some locks over */
}

static void mutexes(int kind)
{
    const struct way ways[] = {
        {lock, lock, unlock},
        {lock_in_time, lock_in_time, unlock},
        {lock_in_parts, lock_in_parts, unlock},
        {lock, lock_by_tries, unlock},
        {lock_after_wait, lock, unlock},
    };
    pthread_mutexattr_t attributes;
    CHECK_EQ(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQ(pthread_mutexattr_settype(&attributes, kind), 0);
    CHECK_EQ(pthread_mutex_init(&mutex, &attributes), 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check(&ways[i]);
    CHECK_EQ(pthread_mutex_destroy(&mutex), 0);
}

static void read_lock(void)
{
    CHECK_EQ(pthread_rwlock_rdlock(&shared), 0);
}

static void write_lock(void)
{
    CHECK_EQ(pthread_rwlock_wrlock(&shared), 0);
}

static void write_lock_in_time(void)
{
    struct timespec late = in_ns(CLOCK_REALTIME, 60000LL * MS);
    CHECK_EQ(pthread_rwlock_timedwrlock(&shared, &late), 0);
}

static void write_lock_by_tries(void)
{
    while (pthread_rwlock_trywrlock(&shared) == EBUSY)
        sleep_ms(1);
}

static void shared_unlock(void)
{
    CHECK_EQ(pthread_rwlock_unlock(&shared), 0);
}

static void rwlocks(int kind)
{
    const struct way ways[] = {
        {write_lock, write_lock, shared_unlock},
        {read_lock, write_lock, shared_unlock},
        {write_lock_in_time, write_lock_in_time, shared_unlock},
        {write_lock, write_lock_by_tries, shared_unlock},
    };
    pthread_rwlockattr_t attributes;
    CHECK_EQ(pthread_rwlockattr_init(&attributes), 0);
    CHECK_EQ(pthread_rwlockattr_setkind_np(&attributes, kind), 0);
    CHECK_EQ(pthread_rwlock_init(&shared, &attributes), 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        check(&ways[i]);
    CHECK_EQ(pthread_rwlock_destroy(&shared), 0);
}

int main(void)
{
    struct sigaction action = {.sa_handler = stop, .sa_flags = SA_RESTART};
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    CHECK(signal(SIGALRM, hangs) != SIG_ERR);
    mutexes(PTHREAD_MUTEX_NORMAL);
    mutexes(PTHREAD_MUTEX_RECURSIVE);
    mutexes(PTHREAD_MUTEX_ERRORCHECK);
    mutexes(PTHREAD_MUTEX_ADAPTIVE_NP);
    rwlocks(PTHREAD_RWLOCK_PREFER_READER_NP);
    rwlocks(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    return 0;
}
