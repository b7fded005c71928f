/* A library that contains turnwise is unloaded while threads that contended for its locks live on: they exit well. The
   first argument is the library, the second whether it "goes" when it is closed, or "stays". */
#include "check.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 20 };

static uint64_t mutex;
static void (*lock)(void *), (*unlock)(void *);
static pthread_barrier_t met;

static void contend(void)
{
    for (int i = 0; i < 200; i++) {
        lock(&mutex);
        usleep(i % 64 == 0); /* the others have to wait */
        unlock(&mutex);
    }
}

static void *outlives_the_library(void *unused)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&met); /* it was loaded */
        contend();
        pthread_barrier_wait(&met);
    }
    return unused;
}

static void *comes_and_goes(void *unused)
{
    contend();
    return unused;
}

static void *load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(handle != NULL);
    *(void **)&lock = dlsym(handle, "tw_mutex_lock");
    *(void **)&unlock = dlsym(handle, "tw_mutex_unlock");
    CHECK(lock && unlock);
    return handle;
}

static int is_loaded(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    return handle != NULL && dlclose(handle) == 0;
}

static int keys(void)
{
    static pthread_key_t made[PTHREAD_KEYS_MAX];
    int count = 0;
    while (count < PTHREAD_KEYS_MAX && pthread_key_create(&made[count], NULL) == 0)
        count++;
    for (int i = 0; i < count; i++)
        CHECK(pthread_key_delete(made[i]) == 0);
    return count;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    int goes = strcmp(argv[2], "goes") == 0;
    pthread_t threads[THREADS], other;
    CHECK(pthread_barrier_init(&met, NULL, THREADS + 1) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, outlives_the_library, NULL) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        void *handle = load(argv[1]);
        pthread_barrier_wait(&met);
        CHECK(pthread_create(&other, NULL, comes_and_goes, NULL) == 0);
        CHECK(pthread_join(other, NULL) == 0);
        pthread_barrier_wait(&met);
        CHECK(dlclose(handle) == 0);
        CHECK(is_loaded(argv[1]) == !goes);
        CHECK(keys() == PTHREAD_KEYS_MAX - !goes);
        /* Its handlers of `fork` have gone with it, too. */
        pid_t child = fork();
        if (child == 0)
            _exit(0);
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    return 0;
}
