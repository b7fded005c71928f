/* Waits that are known one by one, for the live view. DO says which; each line on stdout is answered by one on stdin. */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LOCKS = 20000 };
static pthread_mutex_t mutexes[LOCKS];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_int turn = -1, tid;

static int my_tid(void)
{
    return (int)syscall(SYS_gettid);
}

static void nap(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void tell(const char *what, int waiter, const void *lock)
{
    char answer[16];
    printf("%s %d %d %lu\n", what, my_tid(), waiter, (unsigned long)lock);
    fflush(stdout);
    if (!fgets(answer, sizeof answer, stdin))
        exit(3);
}

/* Whether a thread sleeps for one of our mutexes. */
static int is_waited_for(const pthread_mutex_t *mutex)
{
    return *(const volatile uint32_t *)mutex >> 31;
}

/* Waits for as many mutexes as there are turns. */
static void *wait_for_mutexes(void *count)
{
    tid = my_tid();
    for (int i = 0; i < (int)(intptr_t)count; i++) {
        while (turn != i)
            nap(0);
        CHECK(pthread_mutex_lock(&mutexes[i % LOCKS]) == 0);
        CHECK(pthread_mutex_unlock(&mutexes[i % LOCKS]) == 0);
    }
    return NULL;
}

/* Makes a thread wait for the first mutex once. */
static void wait_once(long ms)
{
    pthread_t thread;
    turn = -1;
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)1) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    turn = 0;
    while (!is_waited_for(&mutexes[0]))
        nap(0);
    nap(ms);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void one_by_one(int count)
{
    for (int i = 0; i < count; i++)
        wait_once(1);
    tell("done", 0, &mutexes[0]);
}

static void waiter_now(void)
{
    pthread_t thread;
    wait_once(20);
    turn = -1;
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)1) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    turn = 0;
    while (!is_waited_for(&mutexes[0]))
        nap(0);
    tell("waits", tid, &mutexes[0]);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    tell("done", 0, &mutexes[0]);
}

static void many_locks(void)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_mutexes, (void *)LOCKS) == 0);
    for (int i = 0; i < LOCKS; i++)
        CHECK(pthread_mutex_lock(&mutexes[i]) == 0);
    for (int i = 0; i < LOCKS; i++) {
        turn = i;
        while (!is_waited_for(&mutexes[i]))
            nap(0);
        CHECK(pthread_mutex_unlock(&mutexes[i]) == 0);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    tell("done", 0, mutexes);
}

static void *read_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_rwlock_rdlock(&rwlock) == 0);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
    return unused;
}

static void *write_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
    return unused;
}

static void *spin_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_spin_lock(&spin) == 0);
    CHECK(pthread_spin_unlock(&spin) == 0);
    return unused;
}

static void *wait_for_condition(void *unused)
{
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    tid = my_tid();
    CHECK(pthread_cond_wait(&cond, &mutexes[0]) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    return unused;
}

static void *give_up(void *unused)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 30000000;
    if (time.tv_nsec >= 1000000000)
        time.tv_sec++, time.tv_nsec -= 1000000000;
    CHECK(pthread_mutex_timedlock(&mutexes[0], &time) == ETIMEDOUT);
    return unused;
}

static void hold(const char *kind, void *(*start)(void *), const void *lock, int (*release)(void *), void *argument)
{
    pthread_t thread;
    tid = 0;
    CHECK(pthread_create(&thread, NULL, start, NULL) == 0);
    while (tid == 0)
        nap(1);
    nap(50);
    tell(kind, tid, lock);
    CHECK(release(argument) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static int release_rwlock(void *lock)
{
    return pthread_rwlock_unlock(lock);
}

static int release_spin(void *lock)
{
    return pthread_spin_unlock((pthread_spinlock_t *)lock);
}

static int release_mutex(void *lock)
{
    return pthread_mutex_unlock(lock);
}

static void kinds(void)
{
    pthread_t thread;
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    hold("read", read_once, &rwlock, release_rwlock, &rwlock);
    CHECK(pthread_rwlock_wrlock(&rwlock) == 0);
    hold("write", write_once, &rwlock, release_rwlock, &rwlock);
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    CHECK(pthread_spin_lock(&spin) == 0);
    hold("spin", spin_once, (const void *)&spin, release_spin, (void *)&spin);
    tid = 0;
    CHECK(pthread_create(&thread, NULL, wait_for_condition, NULL) == 0);
    while (tid == 0)
        nap(1);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_cond_signal(&cond) == 0);
    nap(50);
    tell("mutex", tid, &mutexes[0]);
    CHECK(release_mutex(&mutexes[0]) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_create(&thread, NULL, give_up, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    tell("done", 0, &rwlock);
}

static void forked(void)
{
    int status;
    wait_once(1);
    wait_once(1);
    pid_t child = fork();
    if (child == 0) {
        wait_once(1);
        tell("child", getpid(), mutexes);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    wait_once(1);
    tell("done", child, mutexes);
}

static void replaced(char *program)
{
    wait_once(1);
    wait_once(1);
    tell("before", 0, mutexes);
    setenv("DO", "once", 1);
    execl(program, program, NULL);
    abort();
}

/* A thread that waits for a mutex, under any policy. */
static void *lock_once(void *unused)
{
    tid = my_tid();
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    CHECK(pthread_mutex_unlock(&mutexes[0]) == 0);
    return unused;
}

static void any_policy(void)
{
    CHECK(pthread_mutex_lock(&mutexes[0]) == 0);
    hold("mutex", lock_once, &mutexes[0], release_mutex, &mutexes[0]);
    tell("done", 0, mutexes);
}

int main(int count, char **arguments)
{
    const char *what = getenv("DO");
    if (!strcmp(what, "once"))
        one_by_one(1);
    else if (!strcmp(what, "threads"))
        one_by_one(300);
    else if (!strcmp(what, "now"))
        waiter_now();
    else if (!strcmp(what, "many"))
        many_locks();
    else if (!strcmp(what, "kinds"))
        kinds();
    else if (!strcmp(what, "fork"))
        forked();
    else if (!strcmp(what, "exec"))
        replaced(arguments[count - 1]);
    else if (!strcmp(what, "any"))
        any_policy();
    else if (strcmp(what, "nothing"))
        return 2;
    return 0;
}
