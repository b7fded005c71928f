/*
 * Programs whose locks do what is known beforehand: `truth NAME`. The test (tests/recorded.rs) compares the recording.
 */
#define _GNU_SOURCE
#include "sleeps.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER, place, array[64];
pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
pthread_spinlock_t spin;
struct {
    _Alignas(64) pthread_spinlock_t a;
    pthread_spinlock_t b;
} line;
static atomic_int stage, tids[2];

static void pause_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void await(int wanted)
{
    while (stage < wanted)
        sched_yield();
}

static pthread_t start(void *(*run)(void *))
{
    pthread_t id;
    if (pthread_create(&id, NULL, run, NULL))
        abort();
    return id;
}

static void pairs(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_unlock(&first);
    }
}

static void *thousand(void *unused)
{
    pairs(1000);
    return unused;
}

/* 5 threads, 1000 pairs each; 7 failed tries; a recursive mutex, twice; a spin lock, 10; C11, 3. */
static int count(void)
{
    pthread_t ids[4];
    mtx_t c11;
    pthread_mutexattr_t attributes;
    pthread_mutex_t recursive;
    for (int i = 0; i < 4; i++)
        ids[i] = start(thousand);
    for (int i = 0; i < 4; i++)
        pthread_join(ids[i], NULL);
    thousand(NULL);
    pthread_mutex_lock(&second);
    for (int i = 0; i < 7; i++)
        pthread_mutex_trylock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutex_lock(&recursive);
    pthread_mutex_lock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_mutex_unlock(&recursive);
    pthread_spin_init(&spin, 0);
    for (int i = 0; i < 10; i++) {
        pthread_spin_lock(&spin);
        pthread_spin_unlock(&spin);
    }
    mtx_init(&c11, mtx_plain);
    for (int i = 0; i < 3; i++) {
        mtx_lock(&c11);
        mtx_unlock(&c11);
    }
    return 0;
}

static void *__attribute__((noinline)) long_holder(void *unused)
{
    pthread_setname_np(pthread_self(), "holder");
    pthread_mutex_lock(&first);
    stage = 1;
    await_asleep(&tids[0]);
    pause_ms(100);
    pthread_mutex_unlock(&first);
    return unused;
}

static void __attribute__((noinline)) waiter(void)
{
    await(1);
    tids[0] = my_tid();
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
}

/* The main thread waits about 100 ms for a thread that got the mutex in `long_holder`. */
static int holder(void)
{
    pthread_t id = start(long_holder);
    waiter();
    pthread_join(id, NULL);
    return 0;
}

static atomic_int turn;

static void compute_ms(long ms)
{
    clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);
    while (clock() < end)
        ;
}

/* Keeps the calling thread on the nth CPU that the process may use: beside busy programs the scheduler would put holder
   and waiter on one, where the waiter always finds the holder off it. */
static void stay_on(int nth)
{
    cpu_set_t may, stay;
    if (sched_getaffinity(0, sizeof may, &may) != 0)
        return;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &may) || nth-- > 0)
            continue;
        CPU_ZERO(&stay);
        CPU_SET(cpu, &stay);
        sched_setaffinity(0, sizeof stay, &stay);
        return;
    }
}

/* Turns of the holder, which has the mutex asleep in the first half of them and at work in the others. */
static void *away_half(void *unused)
{
    stay_on(1);
    for (int i = 0; i < 40; i++) {
        pthread_mutex_t *lock = i < 20 ? &first : &second;
        pthread_mutex_lock(lock);
        turn = 2 * i + 1;
        i < 20 ? pause_ms(4) : compute_ms(4);
        pthread_mutex_unlock(lock);
        while (turn < 2 * i + 2)
            pause_ms(1);
    }
    return unused;
}

static int away(void)
{
    pthread_t id = start(away_half);
    stay_on(0);
    for (int i = 0; i < 40; i++) {
        pthread_mutex_t *lock = i < 20 ? &first : &second;
        while (turn < 2 * i + 1)
            sched_yield();
        pause_ms(1);
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
        turn = 2 * i + 2;
    }
    pthread_join(id, NULL);
    return 0;
}

static void *one_way(void *unused)
{
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    return unused;
}

static void *other_way(void *unused)
{
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
}

static int inversion(void)
{
    one_way(NULL); /* the first thread lives until the other has ended */
    pthread_join(start(other_way), NULL);
    return 0;
}

enum { FLOOD = 16384 };
static pthread_mutex_t flood[FLOOD];

/* More orders than the recorder remembers having seen, again and again; then one that matters. */
static void *flooded_way(void *unused)
{
    for (int pass = 0; pass < 8; pass++)
        for (int i = 0; i < FLOOD; i++) {
            pthread_mutex_lock(&place);
            pthread_mutex_lock(&flood[i]);
            pthread_mutex_unlock(&flood[i]);
            pthread_mutex_unlock(&place);
        }
    return one_way(unused);
}

static int orders(void)
{
    flooded_way(NULL);
    pthread_join(start(other_way), NULL);
    return 0;
}

static void *both_ways(void *unused)
{
    for (int i = 0; i < 10; i++) {
        one_way(unused);
        other_way(unused);
    }
    return unused;
}

/* The second thread goes on with what the recorder kept of the first. */
static int heir(void)
{
    pthread_join(start(both_ways), NULL);
    other_way(NULL);
    pthread_join(start(one_way), NULL);
    return 0;
}

/* Under one another; given back in the order in which they were taken; one of them twice; more than are followed. */
static void *nested(void *unused)
{
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        pthread_mutex_lock(&place);
        pthread_mutex_lock(&place);
        pthread_mutex_unlock(&place);
        pthread_mutex_unlock(&place);
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&first);
    }
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&first);
        pthread_mutex_lock(&second);
        pthread_mutex_unlock(&first);
        pthread_mutex_lock(&place);
        pthread_mutex_unlock(&second);
        pthread_mutex_unlock(&place);
    }
    for (int i = 0; i < 10; i++) {
        for (int at = 0; at < 40; at++)
            pthread_mutex_lock(&array[at]);
        for (int at = 0; at < 40; at++)
            pthread_mutex_unlock(&array[at]);
    }
    return unused;
}

static __attribute__((noinline)) void try_second_take_first(void)
{
    pthread_mutex_trylock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
}

/* At last in another order, from places that are well known by then. */
static void *backwards(void *unused)
{
    for (int i = 0; i < 9; i++)
        try_second_take_first();
    pthread_mutex_lock(&place);
    try_second_take_first();
    pthread_mutex_unlock(&place);
    return unused;
}

static int under(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&place, &attributes);
    nested(NULL);
    pthread_join(start(backwards), NULL);
    return 0;
}

static void *on_b(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        pthread_spin_lock(&line.b);
        pthread_spin_unlock(&line.b);
    }
    return unused;
}

static int neighbours(void)
{
    pthread_t id;
    pthread_spin_init(&line.a, 0);
    pthread_spin_init(&line.b, 0);
    id = start(on_b);
    for (int i = 0; i < 5000; i++) {
        pthread_spin_lock(&line.a);
        pthread_spin_unlock(&line.a);
    }
    pthread_join(id, NULL);
    return 0;
}

/* Of the sleeper: under the mutex. */
static int waits;

static void *sleeper(void *unused)
{
    pthread_mutex_lock(&first);
    stage = 1;
    while (stage < 2) {
        waits++;
        pthread_cond_wait(&changed, &first);
    }
    pthread_mutex_unlock(&first);
    return unused;
}

/* Three signals find nothing, the fourth does; a wait that times out; a wait that is cancelled. */
static int nothing(void)
{
    pthread_t id = start(sleeper);
    struct timespec past = {.tv_sec = 1};
    await(1);
    for (int i = 0; i < 4;) {
        pause_ms(5);
        pthread_mutex_lock(&first);
        /* Only one that waits again finds nothing. */
        if (waits > i) {
            if (++i == 4)
                stage = 2;
            pthread_cond_signal(&changed);
        }
        pthread_mutex_unlock(&first);
    }
    pthread_join(id, NULL);
    pthread_mutex_lock(&first);
    pthread_cond_timedwait(&changed, &first, &past);
    pthread_mutex_unlock(&first);
    return 0;
}

static void unlock_first(void *unused)
{
    (void)unused;
    pthread_mutex_unlock(&first);
}

static void *cancelled_sleeper(void *unused)
{
    pthread_mutex_lock(&first);
    pthread_cleanup_push(unlock_first, NULL);
    tids[0] = my_tid();
    for (;;)
        pthread_cond_wait(&changed, &first);
    pthread_cleanup_pop(1);
    return unused;
}

static int cancel(void)
{
    pthread_t id = start(cancelled_sleeper);
    void *result;
    await_asleep(&tids[0]);
    pthread_cancel(id);
    pthread_join(id, &result);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    return result == PTHREAD_CANCELED ? 0 : 1;
}

static void *reader(void *unused)
{
    pthread_rwlock_rdlock(&table);
    stage++;
    await(2);
    pthread_rwlock_unlock(&table);
    return unused;
}

static int readers(void)
{
    pthread_t a = start(reader), b = start(reader);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
    return 0;
}

static int reuse(void)
{
    for (int i = 0; i < 3; i++) {
        pthread_mutex_init(&place, NULL);
        for (int j = 0; j <= i; j++) {
            pthread_mutex_lock(&place);
            pthread_mutex_unlock(&place);
        }
        pthread_mutex_destroy(&place);
    }
    return 0;
}

/* The child takes the mutex 20 times, the parent 10. */
static int forked(void)
{
    pairs(5);
    pid_t child = fork();
    if (child == 0) {
        pairs(20);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    pairs(5);
    return 0;
}

static atomic_int alarms;

static void on_alarm(int signal)
{
    (void)signal;
    if (pthread_mutex_trylock(&second) == 0)
        pthread_mutex_unlock(&second);
    alarms++;
}

static int handler(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    timer_t timer;
    int rounds = 0;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    struct itimerspec every = {{0, 500000}, {0, 500000}};
    sigaction(SIGALRM, &action, NULL);
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    timer_settime(timer, 0, &every, NULL);
    /* However slowly the machine runs, so many interruptions in the midst of so many pairs. */
    while (alarms < 1000 || rounds++ < 1000) {
        for (int i = 0; i < 64; i++) {
            pthread_mutex_lock(&array[i]);
            pthread_mutex_lock(&first);
            pthread_mutex_unlock(&first);
            pthread_mutex_unlock(&array[i]);
        }
    }
    return 0;
}

static struct timespec in_ms(long ms)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *impatient(void *unused)
{
    for (int i = 0; i < 3; i++) {
        struct timespec t = in_ms(20);
        pthread_mutex_timedlock(&first, &t);
    }
    return unused;
}

/* Three waits of 20 ms that end without the lock. */
static int given_up(void)
{
    pthread_mutex_lock(&first);
    pthread_join(start(impatient), NULL);
    pthread_mutex_unlock(&first);
    return 0;
}

static void *first_then_second(void *unused)
{
    pthread_mutex_lock(&first);
    stage++;
    await(2);
    tids[0] = my_tid();
    pthread_mutex_lock(&second);
    return unused;
}

static void *second_then_first(void *unused)
{
    pthread_mutex_lock(&second);
    stage++;
    await(2);
    tids[1] = my_tid();
    pthread_mutex_lock(&first);
    return unused;
}

/* Two threads that wait for each other until the end. */
static int deadlock(void)
{
    start(first_then_second);
    start(second_then_first);
    await_asleep(&tids[0]);
    await_asleep(&tids[1]);
    pause_ms(100);
    return 0;
}

static int many(void)
{
    enum { LOCKS = 1000000 };
    pthread_mutex_t *all = calloc(LOCKS, sizeof *all);
    for (int i = 0; i < LOCKS; i++) {
        pthread_mutex_lock(&all[i]);
        pthread_mutex_unlock(&all[i]);
    }
    return 0;
}

static void *at_once(void *unused)
{
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    stage++;
    await(4000);
    return unused;
}

static int crowd(void)
{
    static pthread_t ids[4000];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 65536);
    for (int i = 0; i < 4000; i++)
        if (pthread_create(&ids[i], &attributes, at_once, NULL))
            return 77;
    for (int i = 0; i < 4000; i++)
        pthread_join(ids[i], NULL);
    return 0;
}

int main(int arguments, char **names)
{
    const char *name = arguments > 1 ? names[1] : "";
    static const struct {
        const char *name;
        int (*run)(void);
    } all[] = {{"count", count}, {"holder", holder}, {"inversion", inversion}, {"neighbours", neighbours},
               {"nothing", nothing}, {"cancel", cancel}, {"readers", readers}, {"reuse", reuse}, {"fork", forked},
               {"handler", handler}, {"many", many}, {"crowd", crowd}, {"under", under},
               {"heir", heir}, {"given_up", given_up}, {"deadlock", deadlock}, {"away", away}, {"orders", orders}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].run();
    pairs(1000);
    if (strcmp(name, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(name, "abort") == 0)
        abort();
    if (strcmp(name, "_exit") == 0)
        _exit(3);
    if (strcmp(name, "exec") == 0)
        execl("/proc/self/exe", names[0], "_exit", NULL);
    return 2;
}
