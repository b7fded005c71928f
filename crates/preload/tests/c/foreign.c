/* Robust, priority-inheriting, priority-protected and process-shared objects reach the C library untouched, and work
   together with private ones. */
#include "check.h"
#include "kernel.h"
#include <sys/mman.h>
#include <sys/wait.h>

static pthread_mutex_t make(int robust, int protocol, int shared)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t m;
    CHECK_EQ(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQ(pthread_mutexattr_setrobust(&attributes, robust), 0);
    CHECK_EQ(pthread_mutexattr_setprotocol(&attributes, protocol), 0);
    CHECK_EQ(pthread_mutexattr_setpshared(&attributes, shared), 0);
    memset(&m, 0xa5, sizeof m);
    CHECK_EQ(pthread_mutex_init(&m, &attributes), 0);
    CHECK_EQ(pthread_mutexattr_destroy(&attributes), 0);
    return m;
}

static void *dies_with_it(void *m)
{
    CHECK_EQ(pthread_mutex_lock(m), 0);
    return NULL;
}

static pthread_mutex_t robust;

static void check_robust(void)
{
    robust = make(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
    in_thread(dies_with_it, &robust);
    CHECK_EQ(pthread_mutex_lock(&robust), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_consistent(&robust), 0);
    CHECK_EQ(pthread_mutex_unlock(&robust), 0);
    in_thread(dies_with_it, &robust);
    CHECK_EQ(pthread_mutex_trylock(&robust), EOWNERDEAD);
    CHECK_EQ(pthread_mutex_unlock(&robust), 0); /* not made consistent */
    struct timespec at = in_ns(CLOCK_REALTIME, MS);
    CHECK_EQ(pthread_mutex_timedlock(&robust, &at), ENOTRECOVERABLE);
    CHECK_EQ(pthread_mutex_clocklock(&robust, CLOCK_REALTIME, &at), ENOTRECOVERABLE);
    CHECK_EQ(pthread_mutex_destroy(&robust), 0);
}

/* glibc keeps the owner's thread id at offset 8 of its own mutexes. */
static void check_glibc_owns(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(((int *)m)[2], gettid());
    CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
}

static void check_protocols(void)
{
    pthread_mutex_t inherit = make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE);
    pthread_mutex_t shared = make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    pthread_mutex_t protect = make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_PROTECT, PTHREAD_PROCESS_PRIVATE);
    int ceiling = -1;
    check_glibc_owns(&inherit);
    check_glibc_owns(&shared);
    CHECK_EQ(pthread_mutex_getprioceiling(&protect, &ceiling), 0);
    CHECK(ceiling > 0);
    CHECK_EQ(pthread_mutex_destroy(&inherit), 0);
    CHECK_EQ(pthread_mutex_destroy(&shared), 0);
    CHECK_EQ(pthread_mutex_destroy(&protect), 0);
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(pthread_mutex_getprioceiling(&plain, &ceiling), EINVAL);
}

struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int turn, rounds;
};

static void init_cond(pthread_cond_t *c, int shared, clockid_t clock)
{
    pthread_condattr_t attributes;
    CHECK_EQ(pthread_condattr_init(&attributes), 0);
    CHECK_EQ(pthread_condattr_setpshared(&attributes, shared), 0);
    CHECK_EQ(pthread_condattr_setclock(&attributes, clock), 0);
    CHECK_EQ(pthread_cond_init(c, &attributes), 0);
}

static void play(struct pair *p, int me, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
        while (p->turn != me)
            CHECK_EQ(pthread_cond_wait(&p->cond, &p->mutex), 0);
        p->turn = !me;
        p->rounds++;
        if (i % 2)
            CHECK_EQ(pthread_cond_broadcast(&p->cond), 0);
        else
            CHECK_EQ(pthread_cond_signal(&p->cond), 0);
        CHECK_EQ(pthread_mutex_unlock(&p->mutex), 0);
    }
}

static void *plays_second(void *pair)
{
    play(pair, 1, times(300));
    return NULL;
}

static void check_threads(pthread_mutex_t mutex, int cond_shared, clockid_t clock)
{
    struct pair p = {.mutex = mutex};
    init_cond(&p.cond, cond_shared, clock);
    pthread_t thread = start(plays_second, &p);
    play(&p, 0, times(300));
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_EQ(p.rounds, 2 * times(300));
    long long begun = now_ns(CLOCK_MONOTONIC);
    struct timespec at = in_ns(clock, 15 * MS);
    CHECK_EQ(pthread_mutex_lock(&p.mutex), 0);
    int result;
    while ((result = pthread_cond_timedwait(&p.cond, &p.mutex, &at)) == 0) {
    }
    CHECK_EQ(result, ETIMEDOUT);
    CHECK(now_ns(CLOCK_MONOTONIC) - begun >= 14 * MS);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_cond_timedwait(&p.cond, &p.mutex, &at), EINVAL);
    CHECK_EQ(pthread_mutex_unlock(&p.mutex), 0);
    CHECK_EQ(pthread_cond_destroy(&p.cond), 0);
    CHECK_EQ(pthread_mutex_destroy(&p.mutex), 0);
}

/* The owner of a robust mutex dies while a waiter of a private condition variable sleeps. */
static struct pair dying = {.cond = PTHREAD_COND_INITIALIZER};

static void *dies_after_signal(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&dying.mutex), 0);
    dying.turn = 1;
    CHECK_EQ(pthread_cond_signal(&dying.cond), 0);
    return unused;
}

static void check_wait_returns_owner_died(void)
{
    dying.mutex = make(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
    CHECK_EQ(pthread_mutex_lock(&dying.mutex), 0);
    pthread_t thread = start(dies_after_signal, NULL);
    int result = 0;
    while (dying.turn == 0 && result == 0)
        result = pthread_cond_wait(&dying.cond, &dying.mutex);
    CHECK_EQ(result, EOWNERDEAD);
    CHECK_EQ(pthread_mutex_consistent(&dying.mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&dying.mutex), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* A process-shared pair in shared memory; the partner is this program again, without the library. */
static struct pair *map(int fd)
{
    struct pair *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(p != MAP_FAILED);
    return p;
}

static void check_processes(const char *self)
{
    int fd = memfd_create("pair", 0);
    char number[16];
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, 4096), 0);
    struct pair *p = map(fd);
    p->mutex = make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
    init_cond(&p->cond, PTHREAD_PROCESS_SHARED, CLOCK_REALTIME);
    snprintf(number, sizeof number, "%d", fd);
    pid_t pid = fork();
    if (pid == 0) {
        unsetenv("LD_PRELOAD");
        execl(self, self, number, (char *)NULL);
        _exit(3);
    }
    play(p, 0, 500);
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(p->rounds, 1000);
}

static void release(void *m)
{
    CHECK_EQ(pthread_mutex_unlock(m), 0);
}

static void *sleeps_on_foreign(void *pair)
{
    struct pair *p = pair;
    CHECK_EQ(pthread_mutex_lock(&p->mutex), 0);
    pthread_cleanup_push(release, &p->mutex);
    p->turn = 1;
    for (;;)
        CHECK_EQ(pthread_cond_wait(&p->cond, &p->mutex), 0);
    pthread_cleanup_pop(1);
    return NULL;
}

static void check_cancel(pthread_mutex_t mutex, int cond_shared)
{
    struct pair p = {.mutex = mutex};
    void *result;
    init_cond(&p.cond, cond_shared, CLOCK_REALTIME);
    pthread_t thread = start(sleeps_on_foreign, &p);
    sleep_ms(20);
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQ(pthread_mutex_trylock(&p.mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&p.mutex), 0);
    CHECK_EQ(pthread_cond_destroy(&p.cond), 0);
}

int main(int argc, char **argv)
{
    enum { PRIVATE = PTHREAD_PROCESS_PRIVATE, SHARED = PTHREAD_PROCESS_SHARED };
    pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
    if (argc > 1) {
        play(map(atoi(argv[1])), 1, 500);
        return 0;
    }
    if (keeps_robust_lists()) {
        check_robust();
        check_wait_returns_owner_died();
    } else {
        skipped("threads that end with a robust mutex, since the kernel keeps no lists of them here");
    }
    check_protocols();
    check_threads(make(PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PRIVATE), PRIVATE, CLOCK_REALTIME);
    check_threads(make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PRIVATE), PRIVATE, CLOCK_MONOTONIC);
    check_threads(make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, SHARED), SHARED, CLOCK_MONOTONIC);
    check_threads(plain, SHARED, CLOCK_MONOTONIC);
    check_threads(plain, SHARED, CLOCK_REALTIME);
    check_cancel(make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE, SHARED), SHARED);
    check_cancel(make(PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT, PRIVATE), PRIVATE);
    check_cancel(plain, SHARED);
    check_processes(argv[0]);
    return 0;
}
