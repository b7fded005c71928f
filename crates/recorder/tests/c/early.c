/* Takes a lock in its constructor, which runs before the recorder's when it is loaded behind it. */
#include <pthread.h>

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void lock_early(void)
{
    pthread_mutex_lock(&early);
    pthread_mutex_unlock(&early);
}
