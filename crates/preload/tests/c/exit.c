/* Locks in atexit handlers, destructors, and destructors of thread-specific data, while other threads contend. */
#include "check.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_key_t key;
static int torn_down, running;

static void use_locks(void)
{
    for (int i = 0; i < times(500); i++) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        CHECK_EQ(pthread_mutex_lock(&recursive), 0);
        CHECK_EQ(pthread_mutex_lock(&recursive), 0);
        CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
        CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    }
}

/* Comes back in every round of destructors, so some run after turnwise's own. */
static void tear_down(void *round)
{
    use_locks();
    if ((intptr_t)round < 4)
        pthread_setspecific(key, (void *)((intptr_t)round + 1));
    __atomic_add_fetch(&torn_down, 1, __ATOMIC_SEQ_CST);
}

static void *body(void *unused)
{
    CHECK_EQ(pthread_setspecific(key, (void *)1), 0);
    use_locks();
    return unused;
}

static void *contends_until_the_end(void *unused)
{
    __atomic_store_n(&running, 1, __ATOMIC_SEQ_CST);
    for (;;)
        use_locks();
    return unused;
}

static void at_exit(void)
{
    use_locks();
}

__attribute__((destructor)) static void at_unload(void)
{
    use_locks();
    write(1, "done\n", 5);
}

int main(void)
{
    pthread_t threads[4];
    CHECK_EQ(pthread_key_create(&key, tear_down), 0);
    CHECK_EQ(atexit(at_exit), 0);
    for (int i = 0; i < 4; i++)
        threads[i] = start(body, NULL);
    for (int i = 0; i < 4; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK(torn_down >= 4);
    start(contends_until_the_end, NULL);
    while (!__atomic_load_n(&running, __ATOMIC_SEQ_CST))
        sleep_ms(1);
    exit(0);
}
