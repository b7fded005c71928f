/* Which definition a program gets: by default version, by the old version of x86-64's first C library, by the old
   double-underscore names, by dlsym, and by dlvsym. All must be one implementation, or a wait would release a lock that
   it does not know. */
#include "check.h"
#include <dlfcn.h>

#ifdef __x86_64__
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timedwait, pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal, pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver old_init, pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver old_destroy, pthread_cond_destroy@GLIBC_2.2.5");
__asm__(".symver old_mutex_lock, __pthread_mutex_lock@GLIBC_2.2.5");
__asm__(".symver old_mutex_unlock, __pthread_mutex_unlock@GLIBC_2.2.5");
__asm__(".symver old_mutex_trylock, __pthread_mutex_trylock@GLIBC_2.2.5");
__asm__(".symver old_mutex_init, __pthread_mutex_init@GLIBC_2.2.5");
__asm__(".symver old_mutex_destroy, __pthread_mutex_destroy@GLIBC_2.2.5");
__asm__(".symver old_rdlock, __pthread_rwlock_rdlock@GLIBC_2.2.5");
__asm__(".symver old_wrlock, __pthread_rwlock_wrlock@GLIBC_2.2.5");
__asm__(".symver old_tryrdlock, __pthread_rwlock_tryrdlock@GLIBC_2.2.5");
__asm__(".symver old_trywrlock, __pthread_rwlock_trywrlock@GLIBC_2.2.5");
__asm__(".symver old_rwunlock, __pthread_rwlock_unlock@GLIBC_2.2.5");
__asm__(".symver old_rwinit, __pthread_rwlock_init@GLIBC_2.2.5");
__asm__(".symver old_rwdestroy, __pthread_rwlock_destroy@GLIBC_2.2.5");
__asm__(".symver old_spin, pthread_spin_lock@GLIBC_2.2.5");
#else
#define old_wait pthread_cond_wait
#define old_timedwait pthread_cond_timedwait
#define old_signal pthread_cond_signal
#define old_broadcast pthread_cond_broadcast
#define old_init pthread_cond_init
#define old_destroy pthread_cond_destroy
#define old_mutex_lock pthread_mutex_lock
#define old_mutex_unlock pthread_mutex_unlock
#define old_mutex_trylock pthread_mutex_trylock
#define old_mutex_init pthread_mutex_init
#define old_mutex_destroy pthread_mutex_destroy
#define old_rdlock pthread_rwlock_rdlock
#define old_wrlock pthread_rwlock_wrlock
#define old_tryrdlock pthread_rwlock_tryrdlock
#define old_trywrlock pthread_rwlock_trywrlock
#define old_rwunlock pthread_rwlock_unlock
#define old_rwinit pthread_rwlock_init
#define old_rwdestroy pthread_rwlock_destroy
#define old_spin pthread_spin_lock
#endif
extern int old_wait(pthread_cond_t *, pthread_mutex_t *);
extern int old_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
extern int old_signal(pthread_cond_t *), old_broadcast(pthread_cond_t *), old_destroy(pthread_cond_t *);
extern int old_init(pthread_cond_t *, const pthread_condattr_t *);
extern int old_mutex_lock(pthread_mutex_t *), old_mutex_unlock(pthread_mutex_t *);
extern int old_mutex_trylock(pthread_mutex_t *), old_mutex_destroy(pthread_mutex_t *);
extern int old_mutex_init(pthread_mutex_t *, const pthread_mutexattr_t *);
extern int old_rdlock(pthread_rwlock_t *), old_wrlock(pthread_rwlock_t *), old_rwdestroy(pthread_rwlock_t *);
extern int old_tryrdlock(pthread_rwlock_t *), old_trywrlock(pthread_rwlock_t *), old_rwunlock(pthread_rwlock_t *);
extern int old_rwinit(pthread_rwlock_t *, const pthread_rwlockattr_t *);
extern int old_spin(pthread_spinlock_t *);

struct api {
    int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*signal)(pthread_cond_t *);
    int (*broadcast)(pthread_cond_t *);
    pthread_mutex_t mutex;
    union {
        pthread_cond_t cond;
        struct {
            char of_2002[24];
            unsigned char beyond[24];
        };
    };
    int turn;
};

static void play(struct api *a, int me)
{
    for (int i = 0; i < times(200); i++) {
        CHECK_EQ(old_mutex_lock(&a->mutex), 0);
        while (a->turn % 2 != me)
            CHECK_EQ(a->wait(&a->cond, &a->mutex), 0);
        a->turn++;
        CHECK_EQ(i % 2 ? a->signal(&a->cond) : a->broadcast(&a->cond), 0);
        CHECK_EQ(pthread_mutex_unlock(&a->mutex), 0);
    }
}

static void *second(void *api)
{
    play(api, 1);
    return NULL;
}

static void check(struct api *a)
{
    pthread_t thread = start(second, a);
    play(a, 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    struct timespec at = in_ns(CLOCK_REALTIME, 5 * MS);
    CHECK_EQ(pthread_mutex_lock(&a->mutex), 0);
    int result;
    while ((result = a->timedwait(&a->cond, &a->mutex, &at)) == 0) {
    }
    CHECK_EQ(result, ETIMEDOUT);
    CHECK_EQ(old_mutex_unlock(&a->mutex), 0);
}

/* Memory that belongs to something else, if the condition variable is one of 2002. */
static void fill_beyond(struct api *a)
{
    memset(a->beyond, 0xff, sizeof a->beyond);
}

static void check_beyond(const struct api *a)
{
    for (size_t i = 0; i < sizeof a->beyond; i++)
        CHECK_EQ(a->beyond[i], 0xff);
}

static void *found(const char *name)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    CHECK(address != NULL);
    return address;
}

#ifdef __x86_64__
#define VERSION "GLIBC_2.3.2"
#else
#define VERSION "GLIBC_2.17"
#endif

static void *versioned(const char *name, const char *version)
{
    void *address = dlvsym(RTLD_DEFAULT, name, version);
    CHECK(address != NULL);
    return address;
}

/* Also those that have been given another version since. */
static void check_one_of_two_versions(void)
{
    static const char *const names[] = {"pthread_mutex_trylock", "pthread_rwlock_wrlock", "pthread_spin_lock"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *newer = dlvsym(RTLD_DEFAULT, names[i], "GLIBC_2.34");
        void *older = versioned(names[i], strcmp(VERSION, "GLIBC_2.3.2") ? VERSION : "GLIBC_2.2.5");
        CHECK(!newer || newer == older);
        CHECK(older == found(names[i]));
    }
}

/* Old names and new ones by turns, on one lock. */
static void check_old_names(void)
{
    pthread_rwlock_t l;
    pthread_spinlock_t spin;
    CHECK_EQ(old_rwinit(&l, NULL), 0);
    CHECK_EQ(old_rdlock(&l), 0);
    CHECK_EQ(pthread_rwlock_tryrdlock(&l), 0);
    CHECK_EQ(old_trywrlock(&l), EBUSY);
    CHECK_EQ(old_rwunlock(&l), 0);
    CHECK_EQ(pthread_rwlock_unlock(&l), 0);
    CHECK_EQ(old_wrlock(&l), 0);
    CHECK_EQ(old_tryrdlock(&l), EBUSY);
    CHECK_EQ(pthread_rwlock_wrlock(&l), EDEADLK);
    CHECK_EQ(pthread_rwlock_unlock(&l), 0);
    CHECK_EQ(old_rwdestroy(&l), 0);
    CHECK_EQ(pthread_spin_init(&spin, 0), 0);
    CHECK_EQ(old_spin(&spin), 0);
    CHECK_EQ(pthread_spin_trylock(&spin), EBUSY);
    CHECK_EQ(pthread_spin_unlock(&spin), 0);
}

int main(void)
{
    check_old_names();
    struct api by_default = {.wait = pthread_cond_wait, .timedwait = pthread_cond_timedwait,
                             .signal = pthread_cond_signal, .broadcast = pthread_cond_broadcast};
    struct api old = {.wait = old_wait, .timedwait = old_timedwait, .signal = old_signal, .broadcast = old_broadcast};
    struct api by_name = {.wait = found("pthread_cond_wait"), .timedwait = found("pthread_cond_timedwait"),
                          .signal = found("pthread_cond_signal"), .broadcast = found("pthread_cond_broadcast")};
    struct api by_version = {.wait = versioned("pthread_cond_wait", VERSION),
                             .timedwait = versioned("pthread_cond_timedwait", VERSION),
                             .signal = versioned("pthread_cond_signal", VERSION),
                             .broadcast = versioned("pthread_cond_broadcast", VERSION)};
    int is_another = old_init != pthread_cond_init;
    fill_beyond(&old);
    CHECK_EQ(old_init(&old.cond, NULL), 0);
    check(&by_default);
    check(&old);
    check(&by_name);
    check(&by_version);
    CHECK_EQ(old_destroy(&old.cond), 0);
    if (is_another)
        check_beyond(&old);
    check_one_of_two_versions();
    if (preloaded()) {
        Dl_info info;
        CHECK(dladdr((void *)old_wait, &info) && strstr(info.dli_fname, "libturnwise_preload"));
        CHECK(dladdr((void *)pthread_cond_wait, &info) && strstr(info.dli_fname, "libturnwise_preload"));
        CHECK(dladdr((void *)pthread_mutex_lock, &info) && strstr(info.dli_fname, "libturnwise_preload"));
        CHECK(dladdr((void *)by_version.wait, &info) && strstr(info.dli_fname, "libturnwise_preload"));
    }
    pthread_mutex_t m;
    CHECK_EQ(old_mutex_init(&m, NULL), 0);
    CHECK_EQ(old_mutex_trylock(&m), 0);
    CHECK_EQ(old_mutex_trylock(&m), EBUSY);
    CHECK_EQ(old_mutex_unlock(&m), 0);
    CHECK_EQ(old_mutex_destroy(&m), 0);
    return 0;
}
