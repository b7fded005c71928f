/*
 * Calls in which a thread sleeps until another one wakes it, other than those of pthread's locks: futex calls through
 * `syscall`, semaphores, barriers, joins, and `pthread_once`. The exported functions jump here (src/sleep.rs). Some are
 * cancellation points, and a thread may ask to be cancelled anywhere, so these frames are C, as in the libraries'
 * wait.c; a library records or counts in Rust functions that return before the sleep begins or run after it (struct
 * sleep_ops).
 *
 * Arguments and results, errno among them, are the next library's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* `Class` of the recording, `Kind` of the live view. */
enum { FUTEX = 5, SEMAPHORE, BARRIER, THREAD, ONCE };

/* src/sleep.rs, `Sleep`, keeps the same order. */
struct sleep {
    uint64_t address;
    const void *site;
    /* The first word above the program's call. */
    const void *above;
    /* The library's own. */
    uint64_t own[3];
    uint32_t class;
};

/* How a call ended; src/sleep.rs has the same numbers. */
enum { WOKEN, GAVE_UP, NOT_ASLEEP };

typedef long syscall_fn(long, long, long, long, long, long, long);
typedef int sem_fn(sem_t *);
typedef int sem_timed_fn(sem_t *, const struct timespec *);
typedef int sem_clock_fn(sem_t *, clockid_t, const struct timespec *);
typedef int barrier_fn(pthread_barrier_t *);
typedef int join_fn(pthread_t, void **);
typedef int timedjoin_fn(pthread_t, void **, const struct timespec *);
typedef int clockjoin_fn(pthread_t, void **, clockid_t, const struct timespec *);
typedef int once_fn(pthread_once_t *, void (*)(void));

/* src/sleep.rs, `SleepOps`, keeps the same order. */
struct sleep_ops {
    /* Returns whether `end` is to be called. */
    bool (*begin)(struct sleep *);
    void (*end)(const struct sleep *, uint32_t how);
    /* For `futex_waitv`, whose words are known to be readable only when it has ended. */
    bool (*begin_several)(struct sleep *, uint64_t words);
    void (*end_of_several)(struct sleep *, uint64_t words, long woken, uint32_t how);
    /* Null: calls that wake pass on. */
    const void *(*wakes)(uint32_t class, uint64_t address, const void *site);
    void (*woke)(const void *entry, long threads);
    /* The next library's functions. */
    syscall_fn *(*syscall)(void);
    sem_fn *(*sem_wait)(void);
    sem_timed_fn *(*sem_timedwait)(void);
    sem_clock_fn *(*sem_clockwait)(void);
    sem_fn *(*sem_post)(void);
    barrier_fn *(*barrier_wait)(void);
    join_fn *(*join)(void);
    timedjoin_fn *(*timedjoin)(void);
    clockjoin_fn *(*clockjoin)(void);
    once_fn *(*once)(void);
};

struct cleanup {
    struct sleep *sleep;
    const struct sleep_ops *ops;
};

static void cancelled(void *argument)
{
    struct cleanup *c = argument;
    c->ops->end(c->sleep, GAVE_UP);
}

#define HERE(what, object)                                                                      \
    {.address = (uint64_t)(object), .site = __builtin_return_address(0), .above = __builtin_dwarf_cfa(),    \
     .class = (what)}

/* Makes a call that may sleep, between `begin` and `end`, which is told `ended`; sets `result`. */
#define SLEEPS(what, object, call, ended)                                                       \
    struct sleep s = HERE(what, object);                                                        \
    struct cleanup c = {.sleep = &s, .ops = ops};                                               \
    if (!ops->begin(&s))                                                                        \
        return (call);                                                                          \
    pthread_cleanup_push(cancelled, &c);                                                        \
    result = (call);                                                                            \
    pthread_cleanup_pop(0);                                                                     \
    ops->end(&s, (ended));

static int with_errno(long result)
{
    return result >= 0 ? WOKEN : errno == ETIMEDOUT || errno == EINTR ? GAVE_UP : NOT_ASLEEP;
}

static int with_code(int result)
{
    return result == 0 ? WOKEN : result == ETIMEDOUT ? GAVE_UP : NOT_ASLEEP;
}

/* There is no function of that name behind us. */
static int missing(void)
{
    errno = ENOSYS;
    return -1;
}

/* Used by futex calls; set before any comes here: the operations, and the next library's function. */
static const struct sleep_ops *of_futexes;
static syscall_fn *next_syscall;

/* Where this library lies, whose own calls are no sleeps of the program's: its locks count these. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_own(const void *site)
{
    return (uintptr_t)site - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

#define PASSED_ON next_syscall(number, first, second, third, fourth, fifth, sixth)

#define ARGUMENTS long number, long first, long second, long third, long fourth, long fifth, long sixth

/* Apart, since other calls need no frame for a cleanup. */
static __attribute__((noinline)) long on_word(struct sleep *s, ARGUMENTS)
{
    struct cleanup c = {.sleep = s, .ops = of_futexes};
    long result;
    if (!of_futexes->begin(s))
        return PASSED_ON;
    pthread_cleanup_push(cancelled, &c);
    result = PASSED_ON;
    pthread_cleanup_pop(0);
    of_futexes->end(s, with_errno(result));
    return result;
}

static long on_several(struct sleep *s, ARGUMENTS)
{
    if (!of_futexes->begin_several(s, (uint64_t)first))
        return PASSED_ON;
    long result = PASSED_ON;
    of_futexes->end_of_several(s, (uint64_t)first, result, with_errno(result));
    return result;
}

static long waking(struct sleep *s, ARGUMENTS)
{
    const void *entry = of_futexes->wakes(s->class, s->address, s->site);
    long result = PASSED_ON;
    of_futexes->woke(entry, result);
    return result;
}

/* `syscall` of these two calls. */
long turnwise_sleep_futex(ARGUMENTS)
{
    if (is_own(__builtin_return_address(0)))
        return PASSED_ON;
    struct sleep s = HERE(FUTEX, first);
    if (number == SYS_futex_waitv)
        return on_several(&s, number, first, second, third, fourth, fifth, sixth);
    switch ((int)second & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_WAIT_REQUEUE_PI:
        return on_word(&s, number, first, second, third, fourth, fifth, sixth);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_WAKE_OP:
    case FUTEX_REQUEUE:
    case FUTEX_CMP_REQUEUE:
        if (of_futexes->wakes)
            return waking(&s, number, first, second, third, fourth, fifth, sixth);
    }
    return PASSED_ON;
}

/* Returns the function for futex calls. */
void *turnwise_sleep_by(const struct sleep_ops *ops)
{
    of_futexes = ops;
    next_syscall = ops->syscall();
    return (void *)turnwise_sleep_futex;
}

/* The halves of a `sem_t` of 64 bits: its value, and the number of threads that wait. */
static uint32_t half(const sem_t *semaphore, int which)
{
    return __atomic_load_n((const uint32_t *)semaphore + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? which : !which),
                           __ATOMIC_RELAXED);
}

#define VALUE 0
#define WAITERS 1

/* A call that finds the semaphore free passes on: it does not sleep, or tells why not. */
#define ON_SEMAPHORE(call)                                                                      \
    if (!next)                                                                                  \
        return missing();                                                                       \
    if (half(semaphore, VALUE) != 0)                                                            \
        return (call);                                                                          \
    int result;                                                                                 \
    SLEEPS(SEMAPHORE, semaphore, (call), with_errno(result))                                    \
    return result;

int turnwise_sleep_sem_wait(sem_t *semaphore, const struct sleep_ops *ops)
{
    sem_fn *next = ops->sem_wait();
    ON_SEMAPHORE(next(semaphore))
}

int turnwise_sleep_sem_timedwait(sem_t *semaphore, const struct timespec *at, const struct sleep_ops *ops)
{
    sem_timed_fn *next = ops->sem_timedwait();
    ON_SEMAPHORE(next(semaphore, at))
}

int turnwise_sleep_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *at,
                                 const struct sleep_ops *ops)
{
    sem_clock_fn *next = ops->sem_clockwait();
    ON_SEMAPHORE(next(semaphore, clock, at))
}

int turnwise_sleep_sem_post(sem_t *semaphore, const struct sleep_ops *ops)
{
    sem_fn *next = ops->sem_post();
    if (!next)
        return missing();
    if (half(semaphore, WAITERS) == 0)
        return next(semaphore);
    const void *entry = ops->wakes(SEMAPHORE, (uint64_t)semaphore, __builtin_return_address(0));
    int result = next(semaphore);
    ops->woke(entry, result == 0 ? 1 : -1);
    return result;
}

int turnwise_sleep_barrier_wait(pthread_barrier_t *barrier, const struct sleep_ops *ops)
{
    barrier_fn *next = ops->barrier_wait();
    int result;
    /* The last to arrive gets the special result, and does not sleep. */
    SLEEPS(BARRIER, barrier, next ? next(barrier) : ENOSYS, with_code(result))
    return result;
}

int turnwise_sleep_join(pthread_t id, void **value, const struct sleep_ops *ops)
{
    join_fn *next = ops->join();
    int result;
    SLEEPS(THREAD, id, next ? next(id, value) : ENOSYS, with_code(result))
    return result;
}

int turnwise_sleep_timedjoin(pthread_t id, void **value, const struct timespec *at, const struct sleep_ops *ops)
{
    timedjoin_fn *next = ops->timedjoin();
    int result;
    SLEEPS(THREAD, id, next ? next(id, value, at) : ENOSYS, with_code(result))
    return result;
}

int turnwise_sleep_clockjoin(pthread_t id, void **value, clockid_t clock, const struct timespec *at,
                             const struct sleep_ops *ops)
{
    clockjoin_fn *next = ops->clockjoin();
    int result;
    SLEEPS(THREAD, id, next ? next(id, value, clock, at) : ENOSYS, with_code(result))
    return result;
}

/* Whoever runs the initialiser may leave it by an exception or a cancellation, through this frame: no cleanup stays. A
 * thread that leaves while it is recorded to wait seems to wait on; only one that took over from another does. */
int turnwise_sleep_once(pthread_once_t *control, void (*run)(void), const struct sleep_ops *ops)
{
    enum { RUNS = 1, HAS_RUN = 2 };
    once_fn *next = ops->once();
    int state = __atomic_load_n((int *)control, __ATOMIC_RELAXED);
    if (!next)
        return ENOSYS;
    if (!(state & RUNS) || state & HAS_RUN)
        return next(control, run);
    struct sleep s = HERE(ONCE, control);
    if (!ops->begin(&s))
        return next(control, run);
    int result = next(control, run);
    ops->end(&s, with_code(result));
    return result;
}
