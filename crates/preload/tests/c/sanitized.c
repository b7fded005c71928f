/* For ThreadSanitizer and valgrind's tools: three threads take turns by a condition variable, and count under a mutex
   and a readers-writer lock, which is no race. With an argument they also count without a lock, which is one. Status 7
   if all is right. */
#include "check.h"

enum { THREADS = 3, TURNS = 200 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static long turn, under_rwlock, under_spin, races;
static int is_racing;

static void *takes_turns(void *number)
{
    /* Before the first lock: nothing orders the threads then, in whatever order they run. */
    if (is_racing)
        races++;
    for (int i = 0; i < TURNS; i++) {
        pthread_mutex_lock(&mutex);
        while (turn % THREADS != (long)number)
            pthread_cond_wait(&cond, &mutex);
        turn++;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
        pthread_rwlock_wrlock(&rwlock);
        under_rwlock++;
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        under_spin++;
        pthread_spin_unlock(&spin);
    }
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    (void)arguments;
    is_racing = count > 1;
    CHECK_EQ(pthread_spin_init(&spin, 0), 0);
    for (long i = 0; i < THREADS; i++)
        threads[i] = start(takes_turns, (void *)i);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(turn, THREADS * TURNS);
    CHECK_EQ(under_rwlock, THREADS * TURNS);
    CHECK_EQ(under_spin, THREADS * TURNS);
    return 7;
}
