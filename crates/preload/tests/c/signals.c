/* A program that tries locks in its signal handlers, while the interrupted thread may be anywhere inside a lock call on
   the same locks. POSIX lists no lock call as safe there; programs do it, and the C library's tries work. */
#include "check.h"
#include <signal.h>
#include <sys/time.h>

enum { THREADS = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long guarded[4]; /* counted under each lock, by threads and handlers alike */
static long counted[4], handled, got; /* the same, counted atomically */
static int stop;

static void count(int lock)
{
    guarded[lock]++;
    __atomic_add_fetch(&counted[lock], 1, __ATOMIC_RELAXED);
}

/* Counts under the recursive mutex, which a handler gets from the very thread that it interrupts: in the middle of an
   addition the handler does without. */
static void count_recursive(void)
{
    static _Thread_local volatile sig_atomic_t adding;
    if (adding)
        return;
    adding = 1;
    count(3);
    adding = 0;
}

/* Counts under each lock that it gets. */
static void handler(int signal)
{
    (void)signal;
    int saved = errno;
    __atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
    if (pthread_mutex_trylock(&mutex) == 0) {
        count(0);
        __atomic_add_fetch(&got, 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&mutex);
    }
    if (pthread_rwlock_trywrlock(&rwlock) == 0) {
        count(1);
        pthread_rwlock_unlock(&rwlock);
    }
    if (pthread_spin_trylock(&spin) == 0) {
        count(2);
        pthread_spin_unlock(&spin);
    }
    if (pthread_mutex_trylock(&recursive) == 0) {
        count_recursive();
        pthread_mutex_unlock(&recursive);
    }
    errno = saved;
}

static void *locks(void *unused)
{
    for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        CHECK_EQ(pthread_mutex_lock(&mutex), 0);
        count(0);
        CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        CHECK_EQ(pthread_rwlock_wrlock(&rwlock), 0);
        count(1);
        CHECK_EQ(pthread_rwlock_unlock(&rwlock), 0);
        CHECK_EQ(pthread_spin_lock(&spin), 0);
        count(2);
        CHECK_EQ(pthread_spin_unlock(&spin), 0);
        CHECK_EQ(pthread_mutex_lock(&recursive), 0);
        count_recursive();
        CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
        struct timespec at = in_ns(CLOCK_REALTIME, MS / 10);
        if (i % 64 == 0) {
            CHECK_EQ(pthread_mutex_lock(&mutex), 0);
            int result = pthread_cond_timedwait(&cond, &mutex, &at);
            CHECK(result == 0 || result == ETIMEDOUT);
            CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
        }
    }
    return unused;
}

static long read_atomic(const long *value)
{
    return __atomic_load_n(value, __ATOMIC_RELAXED);
}

int main(void)
{
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = handler};
    CHECK_EQ(pthread_spin_init(&spin, 0), 0);
    CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = start(locks, NULL);
    struct itimerval often = {{0, 200}, {0, 200}};
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    long long until = now_ns(CLOCK_MONOTONIC) + 500LL * MS;
    /* However slowly the machine runs, so many. */
    for (int i = 0; now_ns(CLOCK_MONOTONIC) < until || read_atomic(&handled) <= 50 || read_atomic(&got) == 0; i++) {
        CHECK_EQ(pthread_kill(threads[i % THREADS], SIGUSR1), 0);
        sleep_ms(0);
    }
    often = (struct itimerval){{0, 0}, {0, 0}};
    CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK(handled > 50 && got > 0);
    for (int lock = 0; lock < 4; lock++)
        CHECK_EQ(guarded[lock], counted[lock]);
    return 0;
}
