/* Waiting is a cancellation point: the mutex is held when cleanup handlers run, and no wake-up is lost. */
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t strict = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int inside, cleaned;

static void until(int *value, int expected)
{
    for (int i = 0; __atomic_load_n(value, __ATOMIC_SEQ_CST) != expected; i++) {
        CHECK(i < 60000);
        sleep_ms(1);
    }
}

static void release(void *m)
{
    /* The error-checking mutex proves that this very thread has it. */
    CHECK_EQ(pthread_mutex_trylock(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    __atomic_add_fetch(&cleaned, 1, __ATOMIC_SEQ_CST);
}

struct how {
    pthread_mutex_t *mutex;
    int timed; /* 0 wait, 1 timedwait, 2 clockwait */
};

static int wait_once(const struct how *how)
{
    struct timespec at = in_ns(how->timed == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME, 100000LL * MS);
    if (how->timed == 2)
        return pthread_cond_clockwait(&cond, how->mutex, CLOCK_MONOTONIC, &at);
    if (how->timed == 1)
        return pthread_cond_timedwait(&cond, how->mutex, &at);
    return pthread_cond_wait(&cond, how->mutex);
}

static void *waits_for_ever(void *argument)
{
    const struct how *how = argument;
    CHECK_EQ(pthread_mutex_lock(how->mutex), 0);
    pthread_cleanup_push(release, how->mutex);
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    for (;;)
        CHECK_EQ(wait_once(how), 0);
    pthread_cleanup_pop(1);
    return NULL;
}

static void joined_as_cancelled(pthread_t thread)
{
    void *result;
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
}

static void check_sleeper_is_cancelled(pthread_mutex_t *m)
{
    for (int timed = 0; timed < 3; timed++) {
        struct how how = {m, timed};
        inside = cleaned = 0;
        pthread_t thread = start(waits_for_ever, &how);
        until(&inside, 1);
        sleep_ms(timed == 0 ? 20 : 5);
        CHECK_EQ(pthread_cancel(thread), 0);
        joined_as_cancelled(thread);
        CHECK_EQ(cleaned, 1);
        CHECK_EQ(pthread_mutex_trylock(m), 0);
        CHECK_EQ(pthread_mutex_unlock(m), 0);
    }
}

/* Cancelled while somebody holds the mutex: the handler waits for it. */
static void check_reacquires(void)
{
    struct how how = {&strict, 0};
    inside = cleaned = 0;
    pthread_t thread = start(waits_for_ever, &how);
    until(&inside, 1);
    CHECK_EQ(pthread_mutex_lock(&strict), 0);
    CHECK_EQ(pthread_cancel(thread), 0);
    sleep_ms(30);
    CHECK_EQ(__atomic_load_n(&cleaned, __ATOMIC_SEQ_CST), 0);
    CHECK_EQ(pthread_mutex_unlock(&strict), 0);
    joined_as_cancelled(thread);
    CHECK_EQ(cleaned, 1);
}

/* A cancellation that is already pending takes effect in the call, even if it need not sleep. */
static void *cancels_itself_first(void *argument)
{
    const struct how *how = argument;
    CHECK_EQ(pthread_mutex_lock(how->mutex), 0);
    pthread_cleanup_push(release, how->mutex);
    CHECK_EQ(pthread_cancel(pthread_self()), 0);
    wait_once(how);
    CHECK(!"came back from a cancelled wait");
    pthread_cleanup_pop(1);
    return NULL;
}

/* With cancellation disabled the wait goes on, and ends by a signal. */
static int flag;
static void *disabled(void *unused)
{
    int old, type;
    CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old), 0);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    while (!flag)
        CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type), 0);
    CHECK_EQ(type, PTHREAD_CANCEL_DEFERRED); /* as it was before the wait */
    return unused;
}

static void check_disabled(void)
{
    void *result;
    inside = flag = 0;
    pthread_t thread = start(disabled, &inside);
    until(&inside, 1);
    sleep_ms(10);
    CHECK_EQ(pthread_cancel(thread), 0);
    sleep_ms(20);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    flag = 1;
    CHECK_EQ(pthread_cond_signal(&cond), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == &inside);
}

/* One waiter is cancelled at the moment of a signal, beside one that is not: either the first dies of it and the
   second gets the wake-up, or the first returns. The second must never sleep on. */
static int tokens, taken;
static void *takes_a_token(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&strict), 0);
    pthread_cleanup_push(release, &strict);
    __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    while (tokens == 0)
        CHECK_EQ(pthread_cond_wait(&cond, &strict), 0);
    tokens--;
    taken++;
    pthread_cleanup_pop(1);
    return unused;
}

static void check_no_signal_is_swallowed(void)
{
    for (int round = 0; round < 300; round++) {
        inside = tokens = taken = 0;
        pthread_t victim = start(takes_a_token, NULL);
        until(&inside, 1);
        pthread_t survivor = start(takes_a_token, NULL);
        until(&inside, 2);
        CHECK_EQ(pthread_mutex_lock(&strict), 0);
        tokens = 1;
        CHECK_EQ(pthread_mutex_unlock(&strict), 0);
        if (round % 2) {
            CHECK_EQ(pthread_cond_signal(&cond), 0);
            CHECK_EQ(pthread_cancel(victim), 0);
        } else {
            CHECK_EQ(pthread_cancel(victim), 0);
            CHECK_EQ(pthread_cond_signal(&cond), 0);
        }
        void *result;
        CHECK_EQ(pthread_join(victim, &result), 0);
        if (result != PTHREAD_CANCELED) { /* it took the token: one more for the survivor */
            CHECK_EQ(pthread_mutex_lock(&strict), 0);
            tokens = 1;
            CHECK_EQ(pthread_cond_signal(&cond), 0);
            CHECK_EQ(pthread_mutex_unlock(&strict), 0);
        }
        CHECK_EQ(pthread_join(survivor, NULL), 0);
    }
}

int main(void)
{
    struct how how = {&strict, 0};
    check_sleeper_is_cancelled(&strict);
    check_sleeper_is_cancelled(&mutex);
    check_reacquires();
    for (how.timed = 0; how.timed < 3; how.timed++)
        joined_as_cancelled(start(cancels_itself_first, &how));
    check_disabled();
    check_no_signal_is_swallowed();
    CHECK_EQ(pthread_cond_destroy(&cond), 0); /* hangs if a cancelled waiter was not taken out of the books */
    return 0;
}
