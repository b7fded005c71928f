/* Locks that were taken before the preload library's constructor ran are still the same locks after it. */
#include "check.h"

extern pthread_mutex_t early_normal, early_recursive, early_strict, early_robust, early_busy;
extern pthread_cond_t early_cond;
extern pthread_t early_sleeper;
extern int early_count, early_go;

static void *waits(void *mutex)
{
    CHECK_EQ(pthread_mutex_lock(mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(mutex), 0);
    return NULL;
}

static void check_held(pthread_mutex_t *m)
{
    pthread_t thread = start(waits, m);
    sleep_ms(20);
    CHECK_EQ(pthread_mutex_destroy(m), EBUSY);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
}

int main(void)
{
    CHECK_EQ(early_count, 3 * times(2000));
    check_held(&early_normal);
    CHECK_EQ(pthread_mutex_lock(&early_recursive), 0);
    CHECK_EQ(pthread_mutex_unlock(&early_recursive), 0);
    check_held(&early_recursive);
    CHECK_EQ(pthread_mutex_lock(&early_strict), EDEADLK);
    check_held(&early_strict);
    CHECK_EQ(pthread_mutex_unlock(&early_robust), 0);
    pthread_mutex_lock(&early_busy);
    early_go = 1;
    pthread_cond_signal(&early_cond);
    pthread_mutex_unlock(&early_busy);
    CHECK_EQ(pthread_join(early_sleeper, NULL), 0);
    return 0;
}
