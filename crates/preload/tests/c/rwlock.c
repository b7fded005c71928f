/* Readers-writer locks: every function, every error, every kind. */
#include "check.h"
#include <sys/mman.h>
#include <sys/wait.h>

typedef int operation(pthread_rwlock_t *);

struct attempt {
    pthread_rwlock_t *lock;
    operation *operation;
    int expected;
};

static void *attempt(void *argument)
{
    struct attempt *a = argument;
    errno = 99;
    CHECK_EQ(a->operation(a->lock), a->expected);
    CHECK_EQ(errno, 99);
    if (a->expected == 0)
        CHECK_EQ(pthread_rwlock_unlock(a->lock), 0);
    return NULL;
}

static void from_elsewhere(pthread_rwlock_t *lock, operation *operation, int expected)
{
    struct attempt a = {lock, operation, expected};
    in_thread(attempt, &a);
}

static int timed(pthread_rwlock_t *lock, clockid_t clock, int write, long long after_ns, long bad_ns)
{
    long long begun = now_ns(CLOCK_MONOTONIC);
    struct timespec at = in_ns(clock == CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, after_ns);
    if (bad_ns)
        at.tv_nsec = bad_ns;
    int result;
    if (clock == CLOCK_REALTIME)
        result = write ? pthread_rwlock_timedwrlock(lock, &at) : pthread_rwlock_timedrdlock(lock, &at);
    else
        result = write ? pthread_rwlock_clockwrlock(lock, clock, &at) : pthread_rwlock_clockrdlock(lock, clock, &at);
    long long took = now_ns(CLOCK_MONOTONIC) - begun;
    if (result == ETIMEDOUT && after_ns > 0)
        CHECK(took >= after_ns - MS);
    CHECK(took < 60000LL * MS);
    return result;
}

#define TIMED(name, clock, write, after_ns, bad_ns)                                                                    \
    static int name(pthread_rwlock_t *lock)                                                                            \
    {                                                                                                                  \
        return timed(lock, clock, write, after_ns, bad_ns);                                                            \
    }
TIMED(soon_read_wall, CLOCK_REALTIME, 0, 30LL * MS, 0)
TIMED(soon_read, CLOCK_MONOTONIC, 0, 30LL * MS, 0)
TIMED(soon_write_wall, CLOCK_REALTIME, 1, 30LL * MS, 0)
TIMED(soon_write, CLOCK_MONOTONIC, 1, 30LL * MS, 0)
TIMED(past_read, CLOCK_REALTIME, 0, -1000LL * MS, 0)
TIMED(past_write, CLOCK_MONOTONIC, 1, -1000LL * MS, 0)
TIMED(bad_read, CLOCK_REALTIME, 0, MS, 1000000000)
TIMED(bad_write, CLOCK_MONOTONIC, 1, MS, -1)
TIMED(other_clock_read, CLOCK_PROCESS_CPUTIME_ID, 0, MS, 0)
TIMED(other_clock_write, CLOCK_PROCESS_CPUTIME_ID, 1, MS, 0)
TIMED(patient_write, CLOCK_MONOTONIC, 1, 50000LL * MS, 0)

static void bad_arguments(pthread_rwlock_t *lock)
{
    from_elsewhere(lock, bad_read, EINVAL);
    from_elsewhere(lock, bad_write, EINVAL);
    from_elsewhere(lock, other_clock_read, EINVAL);
    from_elsewhere(lock, other_clock_write, EINVAL);
}

static void free_lock(pthread_rwlock_t *lock)
{
    operation *all[] = {pthread_rwlock_rdlock,
                        pthread_rwlock_wrlock,
                        pthread_rwlock_tryrdlock,
                        pthread_rwlock_trywrlock,
                        soon_read_wall,
                        soon_read,
                        soon_write_wall,
                        soon_write,
                        past_read,
                        past_write};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        CHECK_EQ(all[i](lock), 0);
        CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    }
    bad_arguments(lock);
}

static void under_reader(pthread_rwlock_t *lock)
{
    CHECK_EQ(pthread_rwlock_rdlock(lock), 0);
    CHECK_EQ(pthread_rwlock_rdlock(lock), 0);
    CHECK_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    from_elsewhere(lock, pthread_rwlock_rdlock, 0);
    from_elsewhere(lock, pthread_rwlock_tryrdlock, 0);
    from_elsewhere(lock, soon_read, 0);
    from_elsewhere(lock, past_read, 0);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    from_elsewhere(lock, pthread_rwlock_trywrlock, EBUSY);
    from_elsewhere(lock, soon_write, ETIMEDOUT);
    from_elsewhere(lock, soon_write_wall, ETIMEDOUT);
    from_elsewhere(lock, past_write, ETIMEDOUT);
    /* What the writers that gave up left behind keeps no reader out. */
    from_elsewhere(lock, pthread_rwlock_rdlock, 0);
    bad_arguments(lock);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    from_elsewhere(lock, pthread_rwlock_trywrlock, 0);
}

static void under_writer(pthread_rwlock_t *lock)
{
    CHECK_EQ(pthread_rwlock_wrlock(lock), 0);
    CHECK_EQ(pthread_rwlock_rdlock(lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_wrlock(lock), EDEADLK);
    CHECK_EQ(soon_read(lock), EDEADLK);
    CHECK_EQ(soon_write_wall(lock), EDEADLK);
    CHECK_EQ(pthread_rwlock_tryrdlock(lock), EBUSY);
    CHECK_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    from_elsewhere(lock, pthread_rwlock_tryrdlock, EBUSY);
    from_elsewhere(lock, pthread_rwlock_trywrlock, EBUSY);
    from_elsewhere(lock, soon_read, ETIMEDOUT);
    from_elsewhere(lock, soon_read_wall, ETIMEDOUT);
    from_elsewhere(lock, past_read, ETIMEDOUT);
    from_elsewhere(lock, soon_write, ETIMEDOUT);
    from_elsewhere(lock, past_write, ETIMEDOUT);
    bad_arguments(lock);
    struct attempt waiters[] = {
        {lock, pthread_rwlock_rdlock, 0}, {lock, patient_write, 0}, {lock, pthread_rwlock_rdlock, 0}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(attempt, &waiters[i]);
    sleep_ms(30);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* A writer waits while this thread reads: may it, or another, read again? */
static void reader_while_writer_waits(pthread_rwlock_t *lock, int expected)
{
    CHECK_EQ(pthread_rwlock_rdlock(lock), 0);
    struct attempt writer = {lock, pthread_rwlock_wrlock, 0};
    pthread_t thread = start(attempt, &writer);
    sleep_ms(50);
    /* However late it comes. */
    while (expected == EBUSY && pthread_rwlock_tryrdlock(lock) == 0) {
        CHECK_EQ(pthread_rwlock_unlock(lock), 0);
        sleep_ms(1);
    }
    from_elsewhere(lock, pthread_rwlock_tryrdlock, expected);
    from_elsewhere(lock, soon_read, expected == 0 ? 0 : ETIMEDOUT);
    if (expected == 0) {
        CHECK_EQ(pthread_rwlock_rdlock(lock), 0);
        CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    }
    struct attempt reader = {lock, pthread_rwlock_rdlock, 0};
    pthread_t other = start(attempt, &reader);
    sleep_ms(20);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_join(other, NULL), 0);
}

/* Readers that wait behind a writer get on when it gives up. */
static void writer_gives_up(pthread_rwlock_t *lock)
{
    CHECK_EQ(pthread_rwlock_rdlock(lock), 0);
    struct attempt writer = {lock, soon_write, ETIMEDOUT};
    pthread_t thread = start(attempt, &writer);
    sleep_ms(10);
    from_elsewhere(lock, pthread_rwlock_rdlock, 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(pthread_rwlock_unlock(lock), 0);
}

static void check(pthread_rwlock_t *lock, int kind)
{
    free_lock(lock);
    under_reader(lock);
    under_writer(lock);
    reader_while_writer_waits(lock, kind == PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP ? EBUSY : 0);
    writer_gives_up(lock);
    CHECK_EQ(pthread_rwlock_destroy(lock), 0);
}

static void by_attributes(int kind, int shared)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlock_t lock;
    memset(&lock, 0xff, sizeof lock);
    CHECK_EQ(pthread_rwlockattr_init(&attributes), 0);
    CHECK_EQ(pthread_rwlockattr_setkind_np(&attributes, kind), 0);
    CHECK_EQ(pthread_rwlockattr_setpshared(&attributes, shared), 0);
    CHECK_EQ(pthread_rwlock_init(&lock, &attributes), 0);
    CHECK_EQ(pthread_rwlockattr_destroy(&attributes), 0);
    check(&lock, kind);
}

/* Between processes only the C library's lock works. */
static void between_processes(void)
{
    struct shared {
        pthread_rwlock_t lock;
        long count;
    } *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(s != MAP_FAILED);
    pthread_rwlockattr_t attributes;
    CHECK_EQ(pthread_rwlockattr_init(&attributes), 0);
    CHECK_EQ(pthread_rwlockattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED), 0);
    CHECK_EQ(pthread_rwlock_init(&s->lock, &attributes), 0);
    CHECK_EQ(pthread_rwlock_wrlock(&s->lock), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(pthread_rwlock_rdlock(&s->lock), 0);
        CHECK_EQ(s->count, 7);
        CHECK_EQ(pthread_rwlock_unlock(&s->lock), 0);
        _exit(0);
    }
    sleep_ms(50);
    s->count = 7;
    CHECK_EQ(pthread_rwlock_unlock(&s->lock), 0);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

int main(void)
{
    static pthread_rwlock_t plain = PTHREAD_RWLOCK_INITIALIZER;
    static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
    pthread_rwlock_t made;
    CHECK_EQ(pthread_rwlock_init(&made, NULL), 0);
    check(&made, PTHREAD_RWLOCK_PREFER_READER_NP);
    check(&plain, PTHREAD_RWLOCK_PREFER_READER_NP);
    check(&writers, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    for (int kind = 0; kind <= 2; kind++) {
        by_attributes(kind, PTHREAD_PROCESS_PRIVATE);
        by_attributes(kind, PTHREAD_PROCESS_SHARED);
    }
    between_processes();
    return 0;
}
