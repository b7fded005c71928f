/* A module that a program loads while it runs. */
#include <pthread.h>

void make(pthread_mutex_t *mutex);

void make(pthread_mutex_t *mutex)
{
    pthread_mutex_init(mutex, NULL);
    __asm__ volatile("");
}
