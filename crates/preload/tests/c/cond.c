/* Condition variables: who wakes, clocks, errors, many waiters, and the object's end. */
#include "check.h"
#include <sys/mman.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, go, woken;

static void *waits_for_go(void *unused)
{
    pthread_mutex_lock(&mutex);
    waiting++;
    while (go == 0)
        CHECK_EQ(pthread_cond_wait(&cond, &mutex), 0);
    go--;
    woken++;
    pthread_mutex_unlock(&mutex);
    return unused;
}

static int read_locked(const int *value)
{
    pthread_mutex_lock(&mutex);
    int v = *value;
    pthread_mutex_unlock(&mutex);
    return v;
}

static void until(const int *value, int expected)
{
    for (int i = 0; read_locked(value) != expected; i++) {
        CHECK(i < 60000);
        sleep_ms(1);
    }
}

enum { WAITERS = 12 };

/* Each signal lets one waiter go; a broadcast lets the rest go. */
static void check_wakeups(void)
{
    pthread_t threads[WAITERS];
    for (int i = 0; i < WAITERS; i++)
        threads[i] = start(waits_for_go, NULL);
    until(&waiting, WAITERS);
    for (int i = 1; i <= 4; i++) {
        pthread_mutex_lock(&mutex);
        go = 1;
        if (i % 2)
            CHECK_EQ(pthread_cond_signal(&cond), 0);
        pthread_mutex_unlock(&mutex);
        if (i % 2 == 0)
            CHECK_EQ(pthread_cond_signal(&cond), 0);
        until(&woken, i);
    }
    pthread_mutex_lock(&mutex);
    go = WAITERS - 4;
    CHECK_EQ(pthread_cond_broadcast(&cond), 0);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < WAITERS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(woken, WAITERS);
}

static void timed_out(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, clockid_t given)
{
    pthread_mutex_lock(m);
    long long begun = now_ns(CLOCK_MONOTONIC);
    struct timespec at = in_ns(clock, 40 * MS);
    int result;
    do
        result = given < 0 ? pthread_cond_timedwait(c, m, &at) : pthread_cond_clockwait(c, m, given, &at);
    while (result == 0);
    long long took = now_ns(CLOCK_MONOTONIC) - begun;
    CHECK_EQ(result, ETIMEDOUT);
    CHECK(took >= 39 * MS && took < 60000LL * MS);
    CHECK_EQ(pthread_mutex_unlock(m), 0);
}

static void check_clocks(pthread_mutex_t *m)
{
    pthread_condattr_t attributes;
    pthread_cond_t c;
    memset(&c, 0xa5, sizeof c);
    CHECK_EQ(pthread_condattr_init(&attributes), 0);
    CHECK_EQ(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC), 0);
    CHECK_EQ(pthread_cond_init(&c, &attributes), 0);
    timed_out(&c, m, CLOCK_MONOTONIC, -1);
    timed_out(&c, m, CLOCK_REALTIME, CLOCK_REALTIME);
    timed_out(&c, m, CLOCK_MONOTONIC, CLOCK_MONOTONIC);
    CHECK_EQ(pthread_cond_destroy(&c), 0);
    CHECK_EQ(pthread_cond_init(&c, NULL), 0);
    timed_out(&c, m, CLOCK_REALTIME, -1);
    timed_out(&c, m, CLOCK_MONOTONIC, CLOCK_MONOTONIC);
    CHECK_EQ(pthread_cond_destroy(&c), 0);
}

static void check_errors(void)
{
    pthread_mutex_t strict = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
    struct timespec at = in_ns(CLOCK_REALTIME, MS);
    CHECK_EQ(pthread_cond_wait(&cond, &strict), EPERM);
    CHECK_EQ(pthread_cond_timedwait(&cond, &strict, &at), EPERM);
    CHECK_EQ(pthread_mutex_lock(&strict), 0);
    at.tv_nsec = 1000000000;
    CHECK_EQ(pthread_cond_timedwait(&cond, &strict, &at), EINVAL);
    at.tv_nsec = -1;
    CHECK_EQ(pthread_cond_clockwait(&cond, &strict, CLOCK_MONOTONIC, &at), EINVAL);
    at.tv_nsec = 0;
    CHECK_EQ(pthread_cond_clockwait(&cond, &strict, CLOCK_PROCESS_CPUTIME_ID, &at), EINVAL);
    at.tv_sec = -1;
    CHECK_EQ(pthread_cond_timedwait(&cond, &strict, &at), ETIMEDOUT);
    CHECK_EQ(pthread_mutex_unlock(&strict), 0); /* still ours after every error */
    errno = 77;
    CHECK_EQ(pthread_cond_signal(&cond), 0);
    CHECK_EQ(pthread_cond_broadcast(&cond), 0);
    CHECK_EQ(errno, 77);
}

/* A token goes round: lost wake-ups would hang it. Signals come from outside the mutex. */
enum { RING = 4, ROUNDS = 3000 };
static pthread_cond_t turns[RING];
static int turn;

static void *ring(void *argument)
{
    int me = (int)(intptr_t)argument;
    for (int i = 0; i < times(ROUNDS); i++) {
        pthread_mutex_lock(&mutex);
        while (turn != me)
            CHECK_EQ(pthread_cond_wait(&turns[me], &mutex), 0);
        int next = turn = (me + 1) % RING;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&turns[next]);
    }
    return NULL;
}

static void check_ring(void)
{
    pthread_t threads[RING];
    for (intptr_t i = 0; i < RING; i++)
        threads[i] = start(ring, (void *)i);
    for (int i = 0; i < RING; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* Producers and consumers on one bounded buffer, with timeouts mixed in. */
enum { PAIRS = 3, ITEMS = 4000, ROOM = 4 };
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int stored, produced, consumed;

static void wait_a_little(pthread_cond_t *c, int timed)
{
    struct timespec at = in_ns(CLOCK_REALTIME, 200000);
    int result = timed ? pthread_cond_timedwait(c, &mutex, &at) : pthread_cond_wait(c, &mutex);
    CHECK(result == 0 || (timed && result == ETIMEDOUT));
}

static void *produce(void *unused)
{
    for (int i = 0; i < times(ITEMS); i++) {
        pthread_mutex_lock(&mutex);
        while (stored == ROOM)
            wait_a_little(&not_full, i % 3 == 0);
        stored++;
        produced++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&not_empty);
    }
    return unused;
}

static void *consume(void *unused)
{
    for (int i = 0; i < times(ITEMS); i++) {
        pthread_mutex_lock(&mutex);
        while (stored == 0)
            wait_a_little(&not_empty, i % 5 == 0);
        stored--;
        consumed++;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void check_buffer(void)
{
    pthread_t threads[2 * PAIRS];
    for (int i = 0; i < 2 * PAIRS; i++)
        threads[i] = start(i % 2 ? produce : consume, NULL);
    for (int i = 0; i < 2 * PAIRS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(produced, PAIRS * times(ITEMS));
    CHECK_EQ(consumed, PAIRS * times(ITEMS));
    CHECK_EQ(stored, 0);
}

/* A condition variable may be destroyed and its memory unmapped right after a broadcast that freed all waiters, even
   by a thread that holds their mutex all the while. */
static pthread_cond_t *short_lived;
static int arrived, released;

static void *waits_on_short_lived(void *unused)
{
    pthread_mutex_lock(&mutex);
    arrived++;
    while (!released)
        CHECK_EQ(pthread_cond_wait(short_lived, &mutex), 0);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void check_destroy_after_broadcast(void)
{
    for (int round = 0; round < times(60); round++) {
        enum { N = 4 };
        pthread_t threads[N];
        short_lived = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(short_lived != MAP_FAILED);
        CHECK_EQ(pthread_cond_init(short_lived, NULL), 0);
        arrived = released = 0;
        for (int i = 0; i < N; i++)
            threads[i] = start(waits_on_short_lived, NULL);
        until(&arrived, N);
        pthread_mutex_lock(&mutex);
        released = 1;
        CHECK_EQ(pthread_cond_broadcast(short_lived), 0);
        CHECK_EQ(pthread_cond_destroy(short_lived), 0);
        CHECK_EQ(munmap(short_lived, 4096), 0);
        pthread_mutex_unlock(&mutex);
        for (int i = 0; i < N; i++)
            CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
}

int main(void)
{
    for (int i = 0; i < RING; i++)
        CHECK_EQ(pthread_cond_init(&turns[i], NULL), 0);
    pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    check_errors();
    check_wakeups();
    check_clocks(&mutex);
    check_clocks(&recursive);
    check_ring();
    check_buffer();
    check_destroy_after_broadcast();
    CHECK_EQ(pthread_cond_destroy(&cond), 0);
    return 0;
}
