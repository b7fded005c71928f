/*
 * What happens inside the locks, known beforehand: `inside NAME`. The test (tests/inside) compares the recording.
 *
 * Nothing here hopes for a time to be long enough: whoever must sleep is seen asleep by the system before the others go
 * on. Exit status 77: this system cannot do it.
 */
#define _GNU_SOURCE
#include "sleeps.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int stage, tids[4], done;

/* Bits of the first word of a mutex of `libturnwise_preload.so`: crates/turnwise/src/mutex/raw.rs. */
#define WAITERS (1u << 30)
#define HANDOFF (1u << 31)

static unsigned word(pthread_mutex_t *mutex)
{
    return *(volatile unsigned *)mutex;
}

static void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static pthread_t start(void *(*run)(void *), long number)
{
    pthread_t id;
    if (pthread_create(&id, NULL, run, (void *)number))
        abort();
    return id;
}

/* Until the waiter has said who it is and sleeps: it does nothing between the two but lock. */
static void await_sleeper(int number)
{
    await_asleep(&tids[number]);
}

static void here(long number)
{
    tids[number] = my_tid();
}

static void *one_wait(void *number)
{
    here((long)number);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    done++;
    return NULL;
}

/* The main thread has the mutex for 20 ms and more while three wait, each of which sleeps. */
static int sleep_three(void)
{
    pthread_t ids[3];
    pthread_mutex_lock(&first);
    for (long i = 0; i < 3; i++)
        ids[i] = start(one_wait, i);
    pause_ms(20);
    for (int i = 0; i < 3; i++)
        await_sleeper(i);
    pthread_mutex_unlock(&first);
    for (int i = 0; i < 3; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

static void *writer(void *unused)
{
    here(0);
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
    return unused;
}

static void *reader(void *unused)
{
    here(1);
    pthread_rwlock_rdlock(&table);
    pthread_rwlock_unlock(&table);
    return unused;
}

/* A writer, then a reader sleep for a readers-writer lock. */
static int sleep_rwlock(void)
{
    pthread_t ids[2];
    pthread_rwlock_wrlock(&table);
    ids[0] = start(writer, 0);
    await_sleeper(0);
    ids[1] = start(reader, 0);
    await_sleeper(1);
    pthread_rwlock_unlock(&table);
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

static void *woken(void *unused)
{
    pthread_mutex_lock(&first);
    here(0);
    while (stage == 0)
        pthread_cond_wait(&changed, &first);
    pthread_mutex_unlock(&first);
    return unused;
}

/* A thread that is woken from a condition variable sleeps for the mutex, too. */
static int sleep_condition(void)
{
    pthread_t id = start(woken, 0);
    await_sleeper(0);
    pthread_mutex_lock(&first);
    stage = 1;
    pthread_cond_signal(&changed);
    /* It sets the flag before it sleeps there. */
    while (!(word(&first) & WAITERS))
        pause_ms(1);
    await_sleeper(0);
    pthread_mutex_unlock(&first);
    pthread_join(id, NULL);
    return 0;
}

static void pin(void)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all))
        exit(77);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
            break;
        }
    if (sched_setaffinity(0, sizeof one, &one))
        exit(77);
}

static void *busy_owner(void *unused)
{
    /* Who has waited once is known to the others by name. */
    here(0);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_lock(&first);
    stage = 1;
    while (stage == 1)
        for (volatile int i = 0; i < 1000; i++)
            ;
    pthread_mutex_unlock(&first);
    return unused;
}

/* On one CPU: an owner computes, and is off it whenever the other looks. */
static int owner_away(void)
{
    if (!dlsym(RTLD_DEFAULT, "__rseq_offset"))
        return 77;
    pin();
    pthread_mutex_lock(&second);
    pthread_t owner = start(busy_owner, 0);
    await_sleeper(0);
    pthread_mutex_unlock(&second);
    while (stage == 0)
        sched_yield();
    pthread_t waiter = start(one_wait, 1);
    await_sleeper(1);
    stage = 2;
    pthread_join(owner, NULL);
    pthread_join(waiter, NULL);
    return 0;
}

static void *patient(void *number)
{
    /* It does not take the CPU from whoever wakes it. */
    struct sched_param none = {0};
    sched_setscheduler(0, SCHED_IDLE, &none);
    return one_wait(number);
}

/* A waiter is woken again and again to find the mutex taken, until it requests a hand-off. */
static int starve(void)
{
    pin();
    for (int round = 0; round < 100; round++) {
        tids[0] = 0;
        done = 0;
        pthread_mutex_lock(&first);
        pthread_t id = start(patient, 0);
        await_sleeper(0);
        pause_ms(5); /* longer than `HANDOFF_AFTER_NS` */
        pthread_mutex_unlock(&first);
        pthread_mutex_lock(&first);
        while (!done && !(word(&first) & HANDOFF))
            pause_ms(1);
        int claimed = !done;
        pthread_mutex_unlock(&first);
        pthread_join(id, NULL);
        if (claimed)
            return 0;
    }
    return 77;
}

static void *many(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_unlock(&first);
    }
    return unused;
}

static void *many_elsewhere(void *unused)
{
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_unlock(&first);
    }
    return unused;
}

/* Two sites compete for one mutex. */
static int compete(void)
{
    pthread_t ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = start(i % 2 ? many : many_elsewhere, i);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

int main(int arguments, char **names)
{
    const char *name = arguments > 1 ? names[1] : "";
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = {{"sleep", sleep_three}, {"rwlock", sleep_rwlock}, {"condition", sleep_condition},
               {"away", owner_away}, {"starve", starve}, {"compete", compete}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].run();
    return 2;
}
