/* Locks that several threads read and that are hardly ever written: their readers spread over CPUs, and each write
 * gathers them. Readers that read again, that move between CPUs, tries, time limits, fork, and many such locks. */
#include "check.h"
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 60000, LOCKS = 300 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long first, second;
static int over;

/* Whether the library has spread the readers: bytes 24..28, as docs/preload.md has them. */
static int is_spread(pthread_rwlock_t *of)
{
    return getenv("LD_PRELOAD") && __atomic_load_n((unsigned *)of + 6, __ATOMIC_RELAXED) & 1;
}

static void read_once(pthread_rwlock_t *of)
{
    CHECK_EQ(pthread_rwlock_rdlock(of), 0);
    sched_yield();
    CHECK_EQ(pthread_rwlock_unlock(of), 0);
}

static void *reads(void *of)
{
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
        read_once(of);
    return NULL;
}

/* Lets threads read the lock until its readers are spread; under the C library, for a moment. */
static void spread(pthread_rwlock_t *of)
{
    pthread_t threads[THREADS];
    __atomic_store_n(&over, 0, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, reads, of), 0);
    for (int i = 0; getenv("LD_PRELOAD") ? !is_spread(of) : i < 100; i++)
        read_once(of);
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static void write_once(void)
{
    first++;
    sched_yield();
    second++;
    CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
}

/* Reads, twice at a time now and then; one write in some thousand rounds; ends on another CPU where it can. */
static void *mixed(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 5003 == me) {
            CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
            write_once();
            continue;
        }
        CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
        CHECK_EQ(first, second);
        if (i % 7 == 0) {
            CHECK_EQ(pthread_rwlock_rdlock(&lock), 0); /* a writer may wait */
            CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
        }
        if (i % 501 == 0) {
            cpu_set_t to;
            CPU_ZERO(&to);
            CPU_SET(i / 501 % 2, &to);
            sched_setaffinity(0, sizeof to, &to);
        }
        CHECK_EQ(first, second);
        CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
    }
    return NULL;
}

static void *writes_in_time(void *unused)
{
    struct timespec at = in_ns(CLOCK_REALTIME, 10 * MS);
    CHECK_EQ(pthread_rwlock_trywrlock(&lock), EBUSY);
    CHECK_EQ(pthread_rwlock_timedwrlock(&lock, &at), ETIMEDOUT);
    return unused;
}

static void tries_and_time_limits(void)
{
    pthread_t writer;
    spread(&lock);
    CHECK_EQ(pthread_rwlock_tryrdlock(&lock), 0);
    CHECK_EQ(pthread_create(&writer, NULL, writes_in_time, NULL), 0);
    CHECK_EQ(pthread_join(writer, NULL), 0);
    CHECK_EQ(pthread_rwlock_tryrdlock(&lock), 0);
    CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
    CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
    spread(&lock);
    CHECK_EQ(pthread_rwlock_trywrlock(&lock), 0);
    CHECK_EQ(pthread_rwlock_tryrdlock(&lock), EBUSY);
    CHECK(!is_spread(&lock));
    write_once();
}

/* A reader forks: the child has its read lock, too, and may write after it. */
static void fork_of_a_reader(void)
{
    spread(&lock);
    CHECK_EQ(pthread_rwlock_rdlock(&lock), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
    CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
    write_once();
    if (child == 0)
        _exit(0);
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
}

/* More locks than the library has slots for, some of them destroyed. */
static void many_locks(void)
{
    static pthread_rwlock_t locks[LOCKS];
    for (int i = 0; i < LOCKS; i++) {
        CHECK_EQ(pthread_rwlock_init(&locks[i], NULL), 0);
        if (i < 8 || i > LOCKS - 4)
            spread(&locks[i]);
        CHECK_EQ(pthread_rwlock_wrlock(&locks[i]), 0);
        CHECK_EQ(pthread_rwlock_unlock(&locks[i]), 0);
        CHECK_EQ(pthread_rwlock_destroy(&locks[i]), 0);
    }
}

int main(void)
{
    pthread_t threads[THREADS];
    spread(&lock);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, mixed, (void *)(intptr_t)i), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(pthread_rwlock_wrlock(&lock), 0);
    CHECK_EQ(first, THREADS * ((ROUNDS + 5002) / 5003));
    CHECK_EQ(pthread_rwlock_unlock(&lock), 0);
    tries_and_time_limits();
    fork_of_a_reader();
    many_locks();
    return 0;
}
