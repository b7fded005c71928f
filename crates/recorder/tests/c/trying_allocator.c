/* An allocator that tries its lock before it waits, as jemalloc does, and a constructor that allocates before the
   recorder's: the loader's own messages are allocated here, too. */
#include <pthread.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);

static pthread_mutex_t tried = PTHREAD_MUTEX_INITIALIZER;
static void *volatile kept;

void *malloc(size_t size)
{
    if (pthread_mutex_trylock(&tried) != 0)
        pthread_mutex_lock(&tried);
    void *p = __libc_malloc(size);
    pthread_mutex_unlock(&tried);
    return p;
}

__attribute__((constructor)) static void allocate_early(void)
{
    kept = malloc(1);
}
