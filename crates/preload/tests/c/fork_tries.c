/* A thread that has waited long may have requested a hand-off when the owner forks. In the child, which has no such
   thread, the lock is free once the owner's copy has released it: to a try, to a wait that is shorter than any time
   after which a hand-off might lapse, and to destroy. */
#include "check.h"
#include "kernel.h"
#include <sys/wait.h>

extern pid_t _Fork(void) __attribute__((weak)); /* runs no handlers; since glibc 2.34 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t rwlock_writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static int stop, is_wiped;

/* What the test does with a lock, by kind. */
struct kind {
    void *lock;
    int (*acquire)(void *), (*attempt)(void *), (*wait)(void *), (*release)(void *), (*end)(void *);
};

static int wait_mutex(void *lock)
{
    struct timespec soon = in_ns(CLOCK_REALTIME, 10 * MS);
    return pthread_mutex_timedlock(lock, &soon);
}

static int wait_to_write(void *lock)
{
    struct timespec soon = in_ns(CLOCK_REALTIME, 10 * MS);
    return pthread_rwlock_timedwrlock(lock, &soon);
}

static int try_to_read(void *lock)
{
    return pthread_rwlock_tryrdlock(lock);
}

static int wait_to_read(void *lock)
{
    struct timespec soon = in_ns(CLOCK_REALTIME, 10 * MS);
    return pthread_rwlock_timedrdlock(lock, &soon);
}

typedef int (*operation)(void *);
#define MUTEX(name) (operation) pthread_mutex_##name
#define RWLOCK(name) (operation) pthread_rwlock_##name

static const struct kind kinds[] = {
    {&mutex, MUTEX(lock), MUTEX(trylock), wait_mutex, MUTEX(unlock), MUTEX(destroy)},
    {&rwlock, RWLOCK(wrlock), RWLOCK(trywrlock), wait_to_write, RWLOCK(unlock), RWLOCK(destroy)},
    {&rwlock_writers, RWLOCK(wrlock), RWLOCK(trywrlock), wait_to_write, RWLOCK(unlock), RWLOCK(destroy)},
    {&rwlock_writers, RWLOCK(wrlock), try_to_read, wait_to_read, RWLOCK(unlock), RWLOCK(destroy)},
};

static void *wants_it(void *argument)
{
    const struct kind *kind = argument;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        kind->acquire(kind->lock);
        kind->release(kind->lock);
        sleep_ms(1);
    }
    return NULL;
}

/* Releases and takes it back at once, so that waiters are overtaken; after some of these there is a request. */
static void overtake(const struct kind *kind, int often)
{
    for (int i = 0; i < often; i++) {
        sleep_ms(5);
        kind->release(kind->lock);
        kind->acquire(kind->lock);
    }
    sleep_ms(2);
}

static void child(const struct kind *kind, int how)
{
    alarm(20);
    CHECK_EQ(kind->release(kind->lock), 0);
    if (how == 0)
        CHECK_EQ(kind->attempt(kind->lock), 0);
    if (how == 1)
        CHECK_EQ(kind->wait(kind->lock), 0);
    if (how == 2)
        CHECK_EQ(kind->end(kind->lock), 0);
    _exit(0);
}

static void forks(const struct kind *kind)
{
    pthread_t threads[3];
    stop = 0;
    CHECK_EQ(kind->acquire(kind->lock), 0);
    for (int i = 0; i < 3; i++)
        threads[i] = start(wants_it, (void *)kind);
    for (int i = 0; i < times(12); i++) {
        overtake(kind, 1 + i % 4);
        pid_t pid = _Fork && is_wiped && i % 2 ? _Fork() : fork();
        if (pid == 0)
            child(kind, i % 3);
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    CHECK_EQ(kind->release(kind->lock), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    is_wiped = wipes_pages_in_children();
    if (!is_wiped)
        skipped("_Fork, since no page is wiped in a child here");
    forks(&kinds[0]);
    for (int i = 1; preloaded() && i < 4; i++) /* tries of the C library's readers-writer locks may fail there */
        forks(&kinds[i]);
    return 0;
}
