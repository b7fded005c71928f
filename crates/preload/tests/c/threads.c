/* 4,000 threads that live at the same time, all on one mutex, one condition variable and one readers-writer lock. */
#include "check.h"
#include <limits.h>

enum { THREADS = 4000, ROUNDS = 5 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER, go = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static int here, gone;
static long count, written;

static void *body(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    if (++here == THREADS)
        CHECK_EQ(pthread_cond_signal(&all_here), 0);
    while (!gone)
        CHECK_EQ(pthread_cond_wait(&go, &mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        count++;
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQ(i ? pthread_rwlock_rdlock(&rwlock) : pthread_rwlock_wrlock(&rwlock), 0);
        written += i == 0;
        CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
    }
    return unused;
}

int main(void)
{
    static pthread_t threads[THREADS];
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN > 32768 ? PTHREAD_STACK_MIN : 32768), 0);
    for (int i = 0; i < THREADS; i++) {
        int error = pthread_create(&threads[i], &attributes, body, NULL);
        if (error == EAGAIN) {
            printf("SKIPPED: this machine gives a process no more than %d threads\n", i);
            _exit(0);
        }
        CHECK_EQ(error, 0);
    }
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    while (here != THREADS)
        CHECK_EQ(pthread_cond_wait(&all_here, &mutex), 0);
    gone = 1;
    CHECK_EQ(pthread_cond_broadcast(&go), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(count, (long)THREADS * ROUNDS);
    CHECK_EQ(written, THREADS);
    return 0;
}
