/*
 * A time limit for a lock as old programs make one: a signal whose handler jumps out of the call that waits, while
 * another thread certainly has the lock. Afterwards everybody gets it, again and again. Arguments: how many rounds;
 * "timed": the waiters give a time, too.
 */
#include "check.h"
#include <setjmp.h>
#include <signal.h>

enum { WAITERS = 3 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_t waiters[WAITERS];
static __thread sigjmp_buf out;
static __thread int me = -1;
static volatile sig_atomic_t inside[WAITERS]; /* in the call, and may jump */
static volatile int over;
static volatile long jumps[WAITERS], turns[WAITERS], all;
static int timed;

static void handler(int number)
{
    (void)number;
    if (me >= 0 && inside[me]) {
        inside[me] = 0;
        siglongjmp(out, 1);
    }
}

static void lock(void)
{
    struct timespec time;
    if (!timed) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 60;
    CHECK_EQ(pthread_mutex_timedlock(&mutex, &time), 0);
}

static void *wait_often(void *number)
{
    me = (int)(intptr_t)number;
    while (!over) {
        if (sigsetjmp(out, 1)) {
            jumps[me]++;
            continue;
        }
        inside[me] = 1;
        lock();
        inside[me] = 0;
        all++;
        turns[me]++;
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    }
    inside[me] = 0;
    return NULL;
}

static void nap(long us)
{
    struct timespec time = {.tv_nsec = us * 1000};
    nanosleep(&time, NULL);
}

int main(int count, char **arguments)
{
    struct sigaction action = {.sa_handler = handler};
    unsigned x = 1;
    CHECK(count > 1);
    timed = count > 2 && !strcmp(arguments[2], "timed");
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    alarm(100);
    for (intptr_t i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_create(&waiters[i], NULL, wait_often, (void *)i), 0);
    for (int round = 0; round < atoi(arguments[1]); round++) {
        int which = round % WAITERS;
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        long before = jumps[which];
        /* Somewhere on its way: before its first look, among the spinners, about to sleep, or asleep. */
        while (!inside[which])
            nap(0);
        x = x * 1103515245 + 12345;
        nap((x >> 16) % 200);
        CHECK_EQ(pthread_kill(waiters[which], SIGUSR1), 0);
        while (jumps[which] == before)
            nap(0);
        long others[WAITERS];
        for (int i = 0; i < WAITERS; i++)
            others[i] = turns[i];
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        /* Nobody is forgotten. */
        for (int i = 0; i < WAITERS; i++)
            while (turns[i] == others[i])
                nap(0);
    }
    over = 1;
    long sum = 0;
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(pthread_join(waiters[i], NULL), 0);
        sum += turns[i];
    }
    CHECK_EQ(sum, all);
    return 0;
}
