/* A plug-in with a lock that four threads contend for; built with other names (-DNAME=...). */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define LOCK JOIN(NAME, _lock)
#define WORK JOIN(NAME, _work)

static pthread_mutex_t LOCK = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waits;

static __attribute__((noinline)) void WORK(void)
{
    pthread_mutex_lock(&LOCK);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    waits++;
    pthread_mutex_unlock(&LOCK);
}

static void *run(void *most)
{
    while (waits < *(int *)most)
        WORK();
    return NULL;
}

/* Works until they have had the lock so often. */
int serve(int most)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, &most);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return waits;
}
