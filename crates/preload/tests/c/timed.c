/* timedlock and clocklock, for every kind. */
#include "check.h"

struct attempt {
    pthread_mutex_t *mutex;
    clockid_t clock;
    long long after_ns;
    long bad_ns;
    int expected;
};

static int attempt_lock(struct attempt *a, const struct timespec *at)
{
    if (a->clock == CLOCK_REALTIME)
        return pthread_mutex_timedlock(a->mutex, at);
    return pthread_mutex_clocklock(a->mutex, a->clock, at);
}

static void *attempt(void *argument)
{
    struct attempt *a = argument;
    long long begun = now_ns(CLOCK_MONOTONIC);
    struct timespec at = in_ns(a->clock == CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC, a->after_ns);
    if (a->bad_ns)
        at.tv_nsec = a->bad_ns;
    errno = 99;
    int result = attempt_lock(a, &at);
    long long took = now_ns(CLOCK_MONOTONIC) - begun;
    CHECK_EQ(errno, 99);
    CHECK_EQ(result, a->expected);
    if (result == ETIMEDOUT && a->after_ns > 0)
        CHECK(took >= a->after_ns - MS);
    CHECK(took < 60000LL * MS);
    if (result == 0)
        CHECK_EQ(pthread_mutex_unlock(a->mutex), 0);
    return NULL;
}

static void from_elsewhere(pthread_mutex_t *m, clockid_t clock, long long after_ns, long bad_ns, int expected)
{
    struct attempt a = {m, clock, after_ns, bad_ns, expected};
    in_thread(attempt, &a);
}

static void check_clock(pthread_mutex_t *m, clockid_t clock)
{
    /* Free: any time will do, even none. */
    from_elsewhere(m, clock, 50 * MS, 0, 0);
    from_elsewhere(m, clock, -50 * MS, 0, 0);
    from_elsewhere(m, clock, 0, 1000000000, 0);
    from_elsewhere(m, clock, 0, -1, 0);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    from_elsewhere(m, clock, 40 * MS, 0, ETIMEDOUT);
    from_elsewhere(m, clock, -1000LL * MS, 0, ETIMEDOUT);
    from_elsewhere(m, clock, 50 * MS, 1000000000, EINVAL);
    from_elsewhere(m, clock, 50 * MS, -1, EINVAL);
    struct attempt patient = {m, clock, 50000LL * MS, 0, 0};
    pthread_t thread = start(attempt, &patient);
    sleep_ms(30);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *negative_second(void *m)
{
    struct timespec at = {.tv_sec = -5, .tv_nsec = 1};
    CHECK_EQ(pthread_mutex_timedlock(m, &at), ETIMEDOUT);
    return NULL;
}

static void check(pthread_mutex_t *m)
{
    check_clock(m, CLOCK_REALTIME);
    check_clock(m, CLOCK_MONOTONIC);
    struct timespec at = in_ns(CLOCK_MONOTONIC, MS);
    CHECK_EQ(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    CHECK_EQ(pthread_mutex_lock(m), 0);
    in_thread(negative_second, m);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
}

int main(void)
{
    static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
    static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
    check(&normal);
    check(&recursive);
    check(&errorcheck);
    check(&adaptive);
    struct timespec at = in_ns(CLOCK_REALTIME, 50 * MS);
    CHECK_EQ(pthread_mutex_lock(&recursive), 0);
    CHECK_EQ(pthread_mutex_timedlock(&recursive, &at), 0);
    CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
    CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
    return 0;
}
