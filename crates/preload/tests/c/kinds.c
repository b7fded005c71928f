/* Every kind of mutex, from static initialisers and from init: results of lock, trylock, unlock, destroy. */
#include "check.h"

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

static void *other_finds_it_locked(void *mutex)
{
    CHECK_EQ(pthread_mutex_trylock(mutex), EBUSY);
    return NULL;
}

static void *other_finds_it_free(void *mutex)
{
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

static void *other_may_not_unlock(void *mutex)
{
    CHECK_EQ(pthread_mutex_unlock(mutex), EPERM);
    return NULL;
}

static void *other_unlocks(void *mutex)
{
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

static void check_plain(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
    in_thread(other_finds_it_locked, m);
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_mutex_trylock(m), 0);
    in_thread(other_unlocks, m); /* POSIX leaves it undefined; glibc allows it, and programs rely on it */
    in_thread(other_finds_it_free, m);
}

static void check_recursive(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(pthread_mutex_trylock(m), 0);
    in_thread(other_finds_it_locked, m);
    in_thread(other_may_not_unlock, m);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    in_thread(other_finds_it_locked, m);
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    in_thread(other_finds_it_free, m);
}

static void check_overflow(pthread_mutex_t *m)
{
    uint32_t *depth = (uint32_t *)m + (preloaded() ? 5 : 1);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    uint32_t once = *depth;
    *depth = UINT32_MAX;
    CHECK_EQ(pthread_mutex_lock(m), EAGAIN);
    CHECK_EQ(pthread_mutex_trylock(m), EAGAIN);
    *depth = once;
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    in_thread(other_finds_it_free, m);
}

static void check_errorcheck(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    CHECK_EQ(pthread_mutex_lock(m), EDEADLK);
    CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
    struct timespec soon = in_ns(CLOCK_REALTIME, MS);
    CHECK_EQ(pthread_mutex_timedlock(m, &soon), EDEADLK);
    in_thread(other_finds_it_locked, m);
    in_thread(other_may_not_unlock, m);
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_mutex_unlock(m), EPERM);
    in_thread(other_finds_it_free, m);
}

static void check_init(int type, void (*check)(pthread_mutex_t *))
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t m;
    memset(&m, 0xa5, sizeof m);
    CHECK_EQ(pthread_mutexattr_init(&attributes), 0);
    CHECK_EQ(pthread_mutexattr_settype(&attributes, type), 0);
    CHECK_EQ(pthread_mutex_init(&m, &attributes), 0);
    CHECK_EQ(pthread_mutexattr_destroy(&attributes), 0);
    check(&m);
    CHECK_EQ(pthread_mutex_destroy(&m), 0);
    CHECK_EQ(pthread_mutex_lock(&m), EINVAL);
    CHECK_EQ(pthread_mutex_trylock(&m), EINVAL);
    CHECK_EQ(pthread_mutex_unlock(&m), EINVAL);
}

static void check_default_init(void)
{
    pthread_mutex_t m;
    memset(&m, 0xa5, sizeof m);
    CHECK_EQ(pthread_mutex_init(&m, NULL), 0);
    check_plain(&m);
    CHECK_EQ(pthread_mutex_destroy(&m), 0);
}

/* The state is in the object, and zero bytes are unlocked. */
static void check_bytes(void)
{
    static const pthread_mutex_t clean = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    CHECK_EQ(pthread_mutex_lock(&m), 0);
    CHECK(memcmp(&m, &clean, sizeof m) != 0);
    CHECK_EQ(pthread_mutex_unlock(&m), 0);
}

static void *waits_for_it(void *mutex)
{
    errno = 4711;
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(errno, 4711);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    CHECK_EQ(errno, 4711);
    return NULL;
}

static void check_errno_is_left_alone(pthread_mutex_t *m)
{
    CHECK_EQ(pthread_mutex_lock(m), 0);
    pthread_t thread = start(waits_for_it, m);
    sleep_ms(30); /* it sleeps now */
    errno = 4712;
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(errno, 4712);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(void)
{
    check_bytes();
    check_plain(&normal);
    check_plain(&adaptive);
    check_recursive(&recursive);
    check_overflow(&recursive);
    check_errorcheck(&errorcheck);
    check_default_init();
    check_init(PTHREAD_MUTEX_NORMAL, check_plain);
    check_init(PTHREAD_MUTEX_ADAPTIVE_NP, check_plain);
    check_init(PTHREAD_MUTEX_RECURSIVE, check_recursive);
    check_init(PTHREAD_MUTEX_ERRORCHECK, check_errorcheck);
    check_errno_is_left_alone(&normal);
    check_errno_is_left_alone(&recursive);
    CHECK_EQ(pthread_mutex_destroy(&normal), 0);
    return 0;
}
