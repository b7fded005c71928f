/* A lock that keeps its line of waiters is made anew in a forked child by the first thread that comes. If that one is
   preempted there by a thread of real-time priority, which wants the lock, too, then the latter must let it run, though
   both may use one CPU only: it must sleep, since a yield is to threads of its own priority alone. */
#include "check.h"
#include <sched.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct timespec used;

static void *lock_in_time(void *unused)
{
    CHECK_EQ(pthread_mutex_lock(&mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&mutex), 0);
    CHECK_EQ(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used), 0);
    return unused;
}

/* On the caller's only CPU, and before it. False: it may not. */
static int start_before_me(pthread_t *thread)
{
    struct sched_param priority = {.sched_priority = 1};
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED), 0);
    CHECK_EQ(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO), 0);
    CHECK_EQ(pthread_attr_setschedparam(&attributes, &priority), 0);
    int error = pthread_create(thread, &attributes, lock_in_time, NULL);
    CHECK_EQ(pthread_attr_destroy(&attributes), 0);
    CHECK(error == 0 || error == EPERM);
    return error == 0;
}

/* As if we were in `LockWord::renew` as the other thread comes. False: there is none. */
static int be_overtaken(void)
{
    uint32_t *line = (uint32_t *)&mutex + 1, own = __atomic_load_n(line, __ATOMIC_RELAXED);
    pthread_t thread;
    __atomic_store_n(line, own | 1u << 31, __ATOMIC_RELAXED);
    if (!start_before_me(&thread))
        return 0;
    __atomic_store_n(line, own, __ATOMIC_RELEASE);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    /* One that only yields uses the CPU until the kernel takes it from real-time threads: 950 ms. */
    CHECK(used.tv_sec == 0 && used.tv_nsec < 300 * MS);
    return 1;
}

int main(void)
{
    const char *policy = getenv("TURNWISE_LOCK");
    if (!policy || (strcmp(policy, "queued") != 0 && strcmp(policy, "ticket") != 0))
        return 0; /* no line in the lock */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    lock_in_time(NULL);
    for (int i = 0; i < 5; i++)
        if (!be_overtaken()) {
            fprintf(stderr, "SKIPPED: may not start threads of real-time priority\n");
            return 0;
        }
    return 0;
}
