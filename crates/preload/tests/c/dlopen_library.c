/* A library that is loaded by dlopen: it locks in its constructor, in calls, in threads of its own, and in its
   destructor. */
#include "check.h"

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int count, made;

static void make(void)
{
    made = 1;
}

int library_count(int more)
{
    CHECK_EQ(pthread_once(&once, make), 0);
    CHECK_EQ(pthread_mutex_lock(&own), 0);
    CHECK_EQ(pthread_rwlock_wrlock(&rwlock), 0);
    int now = count += more;
    CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
    CHECK_EQ(pthread_cond_broadcast(&changed), 0);
    CHECK_EQ(pthread_mutex_unlock(&own), 0);
    return now;
}

static void *counts(void *rounds)
{
    for (int i = 0; i < *(int *)rounds; i++)
        library_count(1);
    return NULL;
}

/* Waits until its threads have counted. */
void library_run(int rounds)
{
    pthread_t threads[3];
    int before = library_count(0);
    for (int i = 0; i < 3; i++)
        threads[i] = start(counts, &rounds);
    CHECK_EQ(pthread_mutex_lock(&own), 0);
    while (count < before + 3 * rounds)
        CHECK_EQ(pthread_cond_wait(&changed, &own), 0);
    CHECK_EQ(pthread_mutex_unlock(&own), 0);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(library_count(0), before + 3 * rounds);
}

/* A wait with the caller's objects. */
void library_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, int *flag)
{
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    while (!*flag)
        CHECK_EQ(pthread_cond_wait(cond, mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
}

__attribute__((constructor)) static void load(void)
{
    library_count(1);
}

__attribute__((destructor)) static void unload(void)
{
    library_count(1);
    CHECK_EQ(pthread_cond_destroy(&changed), 0);
    CHECK_EQ(pthread_mutex_destroy(&own), 0);
}
