/* Condition variables and sequence locks between threads, in C11. */
#include "turnwise.h"
#include "check.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { ROUNDS = 3000, READERS = 3 };

static tw_mutex mutex = TW_MUTEX_INIT;
static tw_cond cond = TW_COND_INIT;
static int turn, woken, begun;

static void *play(void *argument)
{
    int me = argument != NULL;
    for (int i = 0; i < ROUNDS; i++) {
        tw_mutex_lock(&mutex);
        while (turn % 2 != me)
            tw_cond_wait(&cond, &mutex);
        turn++;
        tw_cond_signal(&cond);
        tw_mutex_unlock(&mutex);
    }
    return NULL;
}

static void *wait_for_turn(void *unused)
{
    tw_mutex_lock(&mutex);
    begun++;
    while (turn != -1)
        CHECK_RESULT(tw_cond_wait_for(&cond, &mutex, LONG_NS), TW_OK);
    woken++;
    tw_mutex_unlock(&mutex);
    return unused;
}

static void conditions(void)
{
    pthread_t threads[4];
    CHECK(pthread_create(&threads[0], NULL, play, NULL) == 0);
    CHECK(pthread_create(&threads[1], NULL, play, &mutex) == 0);
    CHECK(pthread_join(threads[0], NULL) == 0 && pthread_join(threads[1], NULL) == 0);
    CHECK(turn == 2 * ROUNDS);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, wait_for_turn, NULL) == 0);
    for (int found = 0; found != 4;) {
        tw_mutex_lock(&mutex);
        found = begun;
        tw_mutex_unlock(&mutex);
    }
    tw_mutex_lock(&mutex);
    turn = -1;
    tw_cond_broadcast(&cond);
    tw_mutex_unlock(&mutex);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(woken == 4);
    tw_mutex_lock(&mutex);
    CHECK_RESULT(tw_cond_wait_for(&cond, &mutex, 3 * MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_cond_wait_until(&cond, &mutex, TW_CLOCK_REALTIME, tw_now_ns(TW_CLOCK_REALTIME) + MS), TW_TIMEDOUT);
    CHECK_RESULT(tw_cond_wait_until(&cond, &mutex, 17, 0), TW_INVALID);
    CHECK(tw_mutex_is_locked(&mutex));
    tw_mutex_unlock(&mutex);
}

static tw_mutex mutexes[2];
static tw_cond shared = TW_COND_INIT;
static atomic_int waiting, over;

static void *wait_with(void *own)
{
    tw_mutex_lock(own);
    waiting++;
    while (!over)
        tw_cond_wait(&shared, own);
    tw_mutex_unlock(own);
    return NULL;
}

/* Waiters with different mutexes: one broadcast wakes them all. */
static void two_mutexes(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, wait_with, &mutexes[i % 2]) == 0);
        while (waiting <= i)
            sched_yield();
        nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL); /* until it sleeps */
    }
    tw_mutex_lock(&mutexes[0]);
    tw_mutex_lock(&mutexes[1]);
    over = 1;
    tw_cond_broadcast(&shared);
    tw_mutex_unlock(&mutexes[1]);
    tw_mutex_unlock(&mutexes[0]);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static tw_seqrwlock lock = TW_SEQRWLOCK_INIT;
static atomic_long left, right; /* left + right == 0 whenever nobody writes */
static atomic_int stop;

static void *write_often(void *unused)
{
    for (long i = 1; i <= 10 * ROUNDS; i++) {
        tw_seqrwlock_write(&lock);
        atomic_store_explicit(&left, i, memory_order_relaxed);
        atomic_store_explicit(&right, -i, memory_order_relaxed);
        tw_seqrwlock_unlock_write(&lock);
    }
    atomic_store(&stop, 1);
    return unused;
}

static long sum(void)
{
    long l = atomic_load_explicit(&left, memory_order_relaxed);
    return l + atomic_load_explicit(&right, memory_order_relaxed);
}

static void *read_often(void *unused)
{
    do {
        uint64_t begin;
        long found;
        do {
            begin = tw_seqrwlock_read_begin(&lock);
            found = sum();
        } while (tw_seqrwlock_read_retry(&lock, begin));
        CHECK(found == 0);
        int passes = 0;
        uint64_t pass = tw_seqrwlock_begin_or_lock(&lock);
        do {
            found = sum();
            passes++;
        } while (tw_seqrwlock_retry_or_lock(&lock, &pass));
        tw_seqrwlock_done(&lock, pass);
        CHECK(found == 0 && passes <= 2);
        tw_seqrwlock_read(&lock);
        CHECK(sum() == 0);
        tw_seqrwlock_unlock_read(&lock);
    } while (!atomic_load(&stop));
    return unused;
}

/* A reader whose first pass a writer spoils makes the second with the lock. */
static void second_pass(void)
{
    uint64_t pass = tw_seqrwlock_begin_or_lock(&lock);
    tw_seqrwlock_write(&lock);
    tw_seqrwlock_unlock_write(&lock);
    CHECK(tw_seqrwlock_retry_or_lock(&lock, &pass));
    CHECK_RESULT(tw_seqrwlock_trywrite(&lock), TW_BUSY);
    CHECK_RESULT(tw_seqrwlock_tryread(&lock), TW_OK);
    tw_seqrwlock_unlock_read(&lock);
    CHECK(!tw_seqrwlock_retry_or_lock(&lock, &pass));
    tw_seqrwlock_done(&lock, pass);
    CHECK_RESULT(tw_seqrwlock_write_for(&lock, 0), TW_OK);
    tw_seqrwlock_unlock_write(&lock);
    CHECK_RESULT(tw_seqrwlock_read_until(&lock, TW_CLOCK_MONOTONIC, 0), TW_OK);
    tw_seqrwlock_unlock_read(&lock);
}

int main(void)
{
    pthread_t writer, readers[READERS];
    conditions();
    two_mutexes();
    second_pass();
    CHECK(pthread_create(&writer, NULL, write_often, NULL) == 0);
    for (int i = 0; i < READERS; i++)
        CHECK(pthread_create(&readers[i], NULL, read_often, NULL) == 0);
    CHECK(pthread_join(writer, NULL) == 0);
    for (int i = 0; i < READERS; i++)
        CHECK(pthread_join(readers[i], NULL) == 0);
    return 0;
}
