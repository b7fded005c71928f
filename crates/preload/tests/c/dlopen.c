/* Libraries that come and go: loaded by dlopen in every mode, also into scopes and name spaces of their own, where
   their calls may bind to the C library. Beside the program, whose locks are interposed, that must do no harm. */
#include "check.h"
#include <dlfcn.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int flag;

struct library {
    void *handle;
    int (*count)(int);
    void (*run)(int);
    void (*wait)(pthread_mutex_t *, pthread_cond_t *, int *);
};

static struct library use(void *handle)
{
    if (!handle)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(handle != NULL);
    struct library l = {handle, dlsym(handle, "library_count"), dlsym(handle, "library_run"),
                        dlsym(handle, "library_wait")};
    CHECK(l.count && l.run && l.wait);
    CHECK_EQ(l.count(0), 1); /* its constructor ran once */
    return l;
}

static void *waits_in_library(void *library)
{
    ((struct library *)library)->wait(&mutex, &cond, &flag);
    return NULL;
}

/* The library waits on the program's objects. */
static void share(struct library *l)
{
    flag = 0;
    pthread_t thread = start(waits_in_library, l);
    sleep_ms(2);
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    flag = 1;
    CHECK_EQ(pthread_cond_signal(&cond), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void *loads_and_unloads(void *path)
{
    for (int i = 0; i < times(100); i++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        CHECK(handle != NULL);
        int (*count)(int) = dlsym(handle, "library_count");
        CHECK(count && count(1) >= 2);
        CHECK_EQ(dlclose(handle), 0);
    }
    return NULL;
}

int main(void)
{
    static const int modes[] = {RTLD_LAZY | RTLD_LOCAL, RTLD_NOW | RTLD_LOCAL, RTLD_NOW | RTLD_GLOBAL};
    char *path = getenv("DLOPEN_LIBRARY");
    CHECK(path != NULL);
    for (unsigned i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct library l = use(dlopen(path, modes[i]));
        l.run(times(1000));
        share(&l);
        CHECK_EQ(dlclose(l.handle), 0);
    }
    /* Its calls bind to the C library first: with locks of its own that is consistent. */
    struct library deep = use(dlopen(path, RTLD_NOW | RTLD_DEEPBIND));
    deep.run(times(1000));
    CHECK_EQ(dlclose(deep.handle), 0);
    /* A C library of its own. */
    struct library apart = use(dlmopen(LM_ID_NEWLM, path, RTLD_NOW));
    CHECK_EQ(apart.count(2), 3);
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = start(loads_and_unloads, path);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
