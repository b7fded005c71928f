/* The library is loaded when the program has made so many keys of thread-specific data (the second argument) that the
   value of one more takes memory: its locks work, and no lock call allocates. The first argument is the library. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

enum { THREADS = 3 };

extern void *__libc_calloc(size_t, size_t), *__libc_malloc(size_t);
static __thread int in_lock;
static int allocations;
static uint64_t mutex;
static long counter;
static void (*lock)(void *), (*unlock)(void *);

void *calloc(size_t count, size_t size)
{
    __atomic_add_fetch(&allocations, in_lock, __ATOMIC_RELAXED);
    return __libc_calloc(count, size);
}

void *malloc(size_t size)
{
    __atomic_add_fetch(&allocations, in_lock, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}

static void *contend(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        in_lock = 1;
        lock(&mutex);
        in_lock = 0;
        counter++;
        usleep(i % 512 == 0); /* the others have to wait */
        in_lock = 1;
        unlock(&mutex);
        in_lock = 0;
    }
    return unused;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    pthread_key_t key;
    for (int i = 0; i < atoi(argv[2]); i++)
        CHECK(pthread_key_create(&key, NULL) == 0);
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(handle != NULL);
    *(void **)&lock = dlsym(handle, "tw_mutex_lock");
    *(void **)&unlock = dlsym(handle, "tw_mutex_unlock");
    CHECK(lock && unlock);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, contend, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(counter == THREADS * 2000);
    CHECK(allocations == 0);
    return 0;
}
