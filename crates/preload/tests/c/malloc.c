/* Threads, dlopen, dlsym, getaddrinfo-like code and fork over an allocator that locks. */
#include "check.h"
#include <dlfcn.h>
#include <sys/wait.h>

extern unsigned long malloc_library_calls;

static void *allocate(void *unused)
{
    void *kept[64] = {0};
    for (int i = 0; i < times(4000); i++) {
        int slot = i % 64;
        free(kept[slot]);
        kept[slot] = malloc(16 + i % 500);
        CHECK(kept[slot] != NULL);
        memset(kept[slot], i, 16);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return unused;
}

static void round_of_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        threads[i] = start(allocate, NULL);
    /* The loader's lock and the allocator's, nested both ways. */
    void *handle = dlopen("libm.so.6", RTLD_NOW);
    CHECK(handle != NULL);
    CHECK(dlsym(handle, "cos") != NULL);
    CHECK(dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") == NULL);
    CHECK(dlerror() != NULL);
    dlclose(handle);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void)
{
    round_of_threads();
    CHECK(malloc_library_calls >= 4ul * times(4000)); /* ours was the one in use */
    pthread_t busy = start(allocate, NULL);
    for (int i = 0; i < times(10); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            alarm(30);
            round_of_threads();
            _exit(0);
        }
        int status;
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK_EQ(pthread_join(busy, NULL), 0);
    return 0;
}
