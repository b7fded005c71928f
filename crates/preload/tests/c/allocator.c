/* Threads, forks and ends of threads over whichever allocator is loaded: its locks are pthread mutexes, used before
   main, inside the loader, in destructors of threads' data, and around fork. */
#include "check.h"
#include <dlfcn.h>
#include <sys/wait.h>

static pthread_key_t key;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void *handed[256]; /* allocated by one thread, freed by another */

static void *churn(void *argument)
{
    unsigned seed = (unsigned)(long)argument + 1;
    CHECK_EQ(pthread_setspecific(key, malloc(100)), 0);
    for (int i = 0; i < times(20000); i++) {
        seed = seed * 1103515245 + 12345;
        size_t size = seed >> 16 & (i % 64 ? 0x3ff : 0xffff);
        unsigned char *fresh = malloc(size + 1);
        CHECK(fresh != NULL);
        fresh[0] = fresh[size] = (unsigned char)i;
        if (i % 8 == 0)
            fresh = realloc(fresh, 2 * size + 2);
        CHECK(fresh != NULL);
        CHECK(fresh[0] == (unsigned char)i);
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        void *old = handed[seed >> 8 & 0xff];
        handed[seed >> 8 & 0xff] = fresh;
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        free(old);
    }
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        threads[i] = start(churn, (void *)i);
    void *handle = dlopen("libm.so.6", RTLD_NOW);
    CHECK(handle != NULL && dlsym(handle, "cos") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") == NULL);
    CHECK(dlerror() != NULL);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static int quit;
static void *busy(void *unused)
{
    while (!__atomic_load_n(&quit, __ATOMIC_RELAXED))
        free(malloc(5000));
    return unused;
}

/* A child forked while another thread allocates can allocate. */
static void forks(void)
{
    pthread_t thread = start(busy, NULL);
    for (int i = 0; i < 10; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            alarm(30);
            for (int n = 0; n < 1000; n++)
                free(malloc(100 * n));
            in_thread(churn, (void *)77);
            _exit(0);
        }
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK_EQ(status, 0);
    }
    __atomic_store_n(&quit, 1, __ATOMIC_RELAXED);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(void)
{
    Dl_info info;
    const char *wanted = getenv("ALLOCATOR");
    CHECK(wanted != NULL);
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) && strstr(info.dli_fname, wanted));
    CHECK_EQ(pthread_key_create(&key, free), 0);
    in_threads();
    forks();
    return 0;
}
