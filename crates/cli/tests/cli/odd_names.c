/* Threads with a name that a terminal or a browser would obey contend for a lock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *unused)
{
    pthread_setname_np(pthread_self(), "\x1b[2J</\"'\xff\n&");
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&shared);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_mutex_unlock(&shared);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
