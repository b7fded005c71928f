/* C11's mtx_* and cnd_*. */
#include "check.h"
#include <threads.h>

static mtx_t plain, recursive, timed;
static cnd_t changed;
static int turn, count;

static int finds_it_locked(void *m)
{
    struct timespec at = in_ns(CLOCK_REALTIME, 10 * MS);
    CHECK_EQ(mtx_trylock(m), thrd_busy);
    CHECK_EQ(mtx_timedlock(m, &at), thrd_timedout);
    return 7;
}

static int counts(void *unused)
{
    (void)unused;
    for (int i = 0; i < times(5000); i++) {
        CHECK_EQ(mtx_lock(&plain), thrd_success);
        count++;
        CHECK_EQ(mtx_unlock(&plain), thrd_success);
    }
    return 0;
}

static int takes_turns(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < times(300); i++) {
        CHECK_EQ(mtx_lock(&plain), thrd_success);
        while (turn % 3 != me)
            CHECK_EQ(cnd_wait(&changed, &plain), thrd_success);
        turn++;
        CHECK_EQ(cnd_broadcast(&changed), thrd_success);
        CHECK_EQ(mtx_unlock(&plain), thrd_success);
    }
    return 0;
}

static void run(thrd_start_t body, int threads)
{
    thrd_t t[8];
    for (intptr_t i = 0; i < threads; i++)
        CHECK_EQ(thrd_create(&t[i], body, (void *)i), thrd_success);
    for (int i = 0; i < threads; i++)
        CHECK_EQ(thrd_join(t[i], NULL), thrd_success);
}

static int waits_for_turn_one(void *unused)
{
    (void)unused;
    mtx_lock(&plain);
    while (turn != 1)
        CHECK_EQ(cnd_wait(&changed, &plain), thrd_success);
    mtx_unlock(&plain);
    return 0;
}

int main(void)
{
    thrd_t other;
    int result;
    CHECK_EQ(mtx_init(&plain, mtx_plain), thrd_success);
    CHECK_EQ(mtx_init(&recursive, mtx_plain | mtx_recursive), thrd_success);
    CHECK_EQ(mtx_init(&timed, mtx_timed | mtx_recursive), thrd_success);
    CHECK_EQ(cnd_init(&changed), thrd_success);
    CHECK_EQ(mtx_lock(&recursive), thrd_success);
    CHECK_EQ(mtx_lock(&recursive), thrd_success);
    CHECK_EQ(mtx_trylock(&recursive), thrd_success);
    CHECK_EQ(thrd_create(&other, finds_it_locked, &recursive), thrd_success);
    CHECK_EQ(thrd_join(other, &result), thrd_success);
    CHECK_EQ(result, 7);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(mtx_unlock(&recursive), thrd_success);
    CHECK_EQ(mtx_unlock(&recursive), thrd_error);
    struct timespec at = in_ns(CLOCK_REALTIME, 30 * MS);
    CHECK_EQ(mtx_timedlock(&timed, &at), thrd_success);
    CHECK_EQ(mtx_unlock(&timed), thrd_success);
    CHECK_EQ(mtx_lock(&plain), thrd_success);
    while ((result = cnd_timedwait(&changed, &plain, &at)) == thrd_success) {
    }
    CHECK_EQ(result, thrd_timedout);
    at.tv_nsec = -1;
    CHECK_EQ(cnd_timedwait(&changed, &plain, &at), thrd_error);
    CHECK_EQ(mtx_unlock(&plain), thrd_success);
    run(counts, 4);
    CHECK_EQ(count, 4 * times(5000));
    run(takes_turns, 3);
    turn = 0;
    CHECK_EQ(thrd_create(&other, waits_for_turn_one, NULL), thrd_success);
    sleep_ms(5);
    mtx_lock(&plain);
    turn = 1;
    mtx_unlock(&plain);
    CHECK_EQ(cnd_signal(&changed), thrd_success);
    CHECK_EQ(thrd_join(other, NULL), thrd_success);
    cnd_destroy(&changed);
    mtx_destroy(&plain);
    mtx_destroy(&recursive);
    mtx_destroy(&timed);
    return 0;
}
