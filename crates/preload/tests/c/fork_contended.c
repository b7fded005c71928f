/* Locks that others wait for when their owner forks. In the child nobody waits: the lock is the forking thread's, which
   releases it, takes it again, lets threads of the child's own fight for it, and forks with those waiting. */
#include "check.h"
#include "kernel.h"

enum { WAITERS = 2, GENERATIONS = 3, FORKS = 2 };

extern pthread_mutex_t handled; /* what the handlers of fork_handlers_library.c lock */
extern pid_t _Fork(void) __attribute__((weak)); /* runs no handlers; since glibc 2.34 */

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t of_others = PTHREAD_MUTEX_INITIALIZER;
static int about_to_wait, guarded, stop;

static void *waits(void *mutex)
{
    __atomic_add_fetch(&about_to_wait, 1, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    guarded++;
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

static void start_waiters(pthread_t *threads, pthread_mutex_t *mutex)
{
    guarded = about_to_wait = 0;
    for (int i = 0; i < WAITERS; i++)
        threads[i] = start(waits, mutex);
    while (__atomic_load_n(&about_to_wait, __ATOMIC_RELAXED) < WAITERS)
        sleep_ms(1);
    sleep_ms(2); /* they are in line by now, or the test asks less */
}

static void join_waiters(pthread_t *threads)
{
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(guarded, WAITERS);
}

static void await(pid_t child)
{
    int status;
    CHECK(child > 0);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* The forking thread has `mutex`, and nobody waits. */
static void use(pthread_mutex_t *mutex)
{
    struct timespec at = in_ns(CLOCK_REALTIME, MS);
    if (mutex != &recursive) {
        CHECK_EQ(pthread_mutex_trylock(mutex), EBUSY);
        CHECK_EQ(pthread_mutex_timedlock(mutex, &at), ETIMEDOUT);
    }
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    CHECK_EQ(pthread_mutex_trylock(mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    CHECK_EQ(pthread_mutex_timedlock(mutex, &at), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    CHECK_EQ(pthread_mutex_trylock(&of_others), EBUSY); /* the thread that had it is not here, and has it still */
}

/* Forks with the lock held and contended; so does the child, which finds waiters of its parent's in the lock. */
static void fork_with(pthread_mutex_t *mutex, int generations)
{
    pthread_t threads[WAITERS];
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    start_waiters(threads, mutex);
    pid_t child = fork();
    if (child == 0) {
        alarm(60); /* a child that hangs must not outlive the test */
        if (generations % 2)
            use(mutex);
        else
            CHECK_EQ(pthread_mutex_unlock(mutex), 0);
        if (generations > 1)
            fork_with(mutex, generations - 1);
        _exit(0);
    }
    await(child);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    join_waiters(threads);
}

/* The first to use the lock in the child are many at once, and its owner releases it meanwhile. */
static void first_users_race(void)
{
    pthread_t threads[WAITERS];
    CHECK_EQ(pthread_mutex_lock(&normal), 0);
    start_waiters(threads, &normal);
    pid_t child = fork();
    if (child == 0) {
        pthread_t own[WAITERS];
        alarm(60);
        guarded = 0;
        for (int i = 0; i < WAITERS; i++)
            own[i] = start(waits, &normal);
        CHECK_EQ(pthread_mutex_unlock(&normal), 0);
        join_waiters(own);
        _exit(0);
    }
    await(child);
    CHECK_EQ(pthread_mutex_unlock(&normal), 0);
    join_waiters(threads);
}

static void *forks_without_handlers(void *unused)
{
    pthread_t threads[WAITERS];
    CHECK_EQ(pthread_mutex_lock(&normal), 0);
    start_waiters(threads, &normal);
    pid_t child = _Fork();
    if (child == 0) {
        alarm(60);
        use(&normal);
        _exit(0);
    }
    await(child);
    CHECK_EQ(pthread_mutex_unlock(&normal), 0);
    join_waiters(threads);
    return unused;
}

/* Keeps the handlers' lock contended all the time. */
static void *contend(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        CHECK_EQ(pthread_mutex_lock(&handled), 0);
        CHECK_EQ(pthread_mutex_unlock(&handled), 0);
    }
    return unused;
}

static void *keeps(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&of_others), 0);
    return unused;
}

int main(void)
{
    if (preloaded() && !wipes_pages_in_children()) {
        skipped("handlers that come before ours, and _Fork, since no page is wiped in a child here");
        return 0;
    }
    in_thread(keeps, NULL);
    fork_with(&normal, GENERATIONS);
    for (int i = 0; i < FORKS; i++)
        first_users_race();
    if (preloaded()) /* glibc's recursive mutexes know their owner's thread id, which a child does not share */
        fork_with(&recursive, GENERATIONS);
    if (_Fork)
        in_thread(forks_without_handlers, NULL);
    pthread_t contending = start(contend, NULL);
    for (int i = 0; i < FORKS; i++)
        fork_with(&normal, 1);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(contending, NULL), 0);
    return 0;
}
