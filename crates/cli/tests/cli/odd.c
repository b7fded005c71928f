/* Waits for a mutex at an address at which no futex can be. */
#include <pthread.h>

static _Alignas(64) char memory[128];

static void *wait_for_it(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

int main(void)
{
    pthread_mutex_t *mutex = (void *)(memory + 2);
    pthread_t thread;
    pthread_mutex_lock(mutex);
    pthread_create(&thread, NULL, wait_for_it, mutex);
    pthread_join(thread, NULL);
    return 0;
}
