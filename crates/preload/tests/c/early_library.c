/* Its constructor runs before the preload library's (which depends on nothing and is loaded first, so it comes last):
   it leaves locks taken, and has had threads fight for one. */
#include "check.h"

pthread_mutex_t early_normal = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t early_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
pthread_mutex_t early_strict = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
pthread_mutex_t early_robust;
pthread_mutex_t early_busy = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t early_cond = PTHREAD_COND_INITIALIZER;
pthread_t early_sleeper;
int early_count, early_asleep, early_go;

static void *contend(void *unused)
{
    for (int i = 0; i < times(2000); i++) {
        pthread_mutex_lock(&early_busy);
        early_count++;
        pthread_mutex_unlock(&early_busy);
    }
    return unused;
}

/* Begins to wait before the constructor of the preload library, and ends after it. */
static void *sleeper(void *unused)
{
    pthread_mutex_lock(&early_busy);
    early_asleep = 1;
    while (!early_go)
        CHECK_EQ(pthread_cond_wait(&early_cond, &early_busy), 0);
    pthread_mutex_unlock(&early_busy);
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    pthread_t threads[3];
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    CHECK_EQ(pthread_mutex_init(&early_robust, &attributes), 0);
    CHECK_EQ(pthread_mutex_lock(&early_robust), 0);
    CHECK_EQ(pthread_mutex_lock(&early_normal), 0);
    CHECK_EQ(pthread_mutex_lock(&early_recursive), 0);
    CHECK_EQ(pthread_mutex_lock(&early_strict), 0);
    for (int i = 0; i < 3; i++)
        threads[i] = start(contend, NULL);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    early_sleeper = start(sleeper, NULL);
    for (int asleep = 0; !asleep; sleep_ms(1)) {
        pthread_mutex_lock(&early_busy);
        asleep = early_asleep;
        pthread_mutex_unlock(&early_busy);
    }
    fprintf(stderr, "early constructor\n");
}
