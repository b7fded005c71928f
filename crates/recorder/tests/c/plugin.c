/* A plug-in with a static mutex of its own; it takes the program's, too. */
#include <pthread.h>

#define JOIN(a, b) a##b
#define NAMED(a, b) JOIN(a, b)

static pthread_mutex_t NAMED(NAME, _lock) = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void NAMED(NAME, _work)(pthread_mutex_t *of_program)
{
    pthread_mutex_lock(&NAMED(NAME, _lock));
    pthread_mutex_lock(of_program);
    pthread_mutex_unlock(of_program);
    pthread_mutex_unlock(&NAMED(NAME, _lock));
}

__attribute__((visibility("default"))) void serve(pthread_mutex_t *of_program, int times);
void serve(pthread_mutex_t *of_program, int times)
{
    for (int i = 0; i < times; i++)
        NAMED(NAME, _work)(of_program);
}
