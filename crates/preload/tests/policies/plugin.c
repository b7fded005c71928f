/* A module that a program loads while it runs. */
#include <pthread.h>

pthread_mutex_t in_plugin = PTHREAD_MUTEX_INITIALIZER;
void make_by_plugin(pthread_mutex_t *m);

void make_by_plugin(pthread_mutex_t *m)
{
    pthread_mutex_init(m, NULL);
    __asm__ volatile("");
}
