/* Keys of thread-specific data. The library has one of its own: a program's stray use of keys that it never made is an
   error, as on the C library, and reaches nobody; and the program can make as many keys as the C library has. */
#include "check.h"
#include <limits.h>
#include <threads.h>

enum { THREADS = 4 };

static pthread_key_t never_made; /* 0, as whoever forgets to make it has it */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t met;
static long counter, torn_down;
static pthread_key_t keys[PTHREAD_KEYS_MAX];

static void contend(void)
{
    pthread_barrier_wait(&met);
    for (int i = 0; i < times(20000); i++) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        counter++;
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    }
}

/* Values that are no index, somebody else's index, or nothing. */
static void *strays(void *value)
{
    contend();
    CHECK_EQ(pthread_setspecific(never_made, value), EINVAL);
    CHECK(pthread_getspecific(never_made) == NULL);
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++) {
        CHECK_EQ(pthread_setspecific(key, value), EINVAL);
        CHECK_EQ(tss_set(key, value), thrd_error);
    }
    return NULL;
}

static void run(void *(*body)(void *), void *const values[THREADS])
{
    pthread_t threads[THREADS];
    long before = counter;
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(body, values[i]);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(counter - before, (long)THREADS * times(20000));
}

static void no_key_to_delete(void)
{
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX; key++) {
        CHECK_EQ(pthread_key_delete(key), EINVAL);
        tss_delete(key);
    }
}

static void tear_down(void *value)
{
    CHECK(value == &keys);
    __atomic_add_fetch(&torn_down, 1, __ATOMIC_SEQ_CST);
}

static void *has_all_values(void *value)
{
    for (int i = 0; i < PTHREAD_KEYS_MAX; i++) {
        CHECK(pthread_getspecific(keys[i]) == NULL);
        CHECK_EQ(pthread_setspecific(keys[i], value), 0);
    }
    contend();
    return NULL;
}

static void *lives_through_it(void *other)
{
    contend();
    pthread_barrier_wait(other); /* all keys are made now */
    pthread_barrier_wait(other);
    contend();
    return NULL;
}

/* All keys that there can be, while threads that have contended live on. */
static void all_keys(void)
{
    static pthread_barrier_t made;
    pthread_t threads[THREADS];
    CHECK_EQ(pthread_barrier_init(&made, NULL, THREADS + 1), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(lives_through_it, &made);
    pthread_barrier_wait(&made);
    for (int i = 0; i < PTHREAD_KEYS_MAX; i++)
        CHECK_EQ(i % 2 ? pthread_key_create(&keys[i], tear_down) : tss_create(&keys[i], tear_down), 0);
    pthread_key_t more;
    CHECK_EQ(pthread_key_create(&more, NULL), EAGAIN);
    CHECK_EQ(tss_create(&more, NULL), thrd_error);
    pthread_barrier_wait(&made);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    void *const values[THREADS] = {&keys, &keys, &keys, &keys};
    CHECK_EQ(torn_down, 0);
    run(has_all_values, values);
    CHECK_EQ(torn_down, (long)THREADS * PTHREAD_KEYS_MAX);
    for (int i = 0; i < PTHREAD_KEYS_MAX; i++)
        CHECK_EQ(pthread_key_delete(keys[i]), 0);
    no_key_to_delete();
}

int main(void)
{
    void *const values[THREADS] = {(void *)99999999, (void *)1, (void *)2, NULL};
    pthread_key_t first;
    CHECK_EQ(pthread_barrier_init(&met, NULL, THREADS), 0);
    run(strays, values);
    no_key_to_delete();
    CHECK_EQ(pthread_key_create(&first, NULL), 0);
    CHECK_EQ(first, 0);
    CHECK_EQ(pthread_key_delete(first), 0);
    all_keys();
    return 0;
}
