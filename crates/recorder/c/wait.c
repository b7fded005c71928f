/*
 * Waits on condition variables, recorded. They are cancellation points: a cancelled thread unwinds through these
 * frames, so they are C. The exported functions jump here (src/exports/cond.rs); what is to be recorded is done by Rust
 * functions that return before the wait begins or run after it (struct recorder_ops).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>

/* src/cond.rs, `Wait`, keeps the same order. */
struct wait {
    void *cond;
    void *mutex;
    const void *site;
    uint64_t began;
    const void *entry;
    /* src/events.rs, `Events`. */
    uint32_t before[7];
};

typedef int wait_fn(pthread_cond_t *, pthread_mutex_t *);
typedef int timedwait_fn(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int clockwait_fn(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

/* src/exports/cond.rs, `Ops`, keeps the same order. */
struct recorder_ops {
    void (*begin)(struct wait *);
    void (*end)(struct wait *, int result);
    /* The next library's functions. */
    wait_fn *(*wait)(void);
    timedwait_fn *(*timedwait)(void);
    clockwait_fn *(*clockwait)(void);
};

/* What `end` is told of a cancelled wait. */
enum { CANCELLED = -1 };

struct cleanup {
    struct wait *wait;
    const struct recorder_ops *ops;
};

static void cancelled(void *argument)
{
    struct cleanup *c = argument;
    c->ops->end(c->wait, CANCELLED);
}

#define RECORDED(call)                                                                       \
    struct wait w = {.cond = cond, .mutex = mutex, .site = __builtin_return_address(0)};     \
    struct cleanup c = {.wait = &w, .ops = ops};                                             \
    int result;                                                                              \
    ops->begin(&w);                                                                          \
    pthread_cleanup_push(cancelled, &c);                                                     \
    result = (call);                                                                         \
    pthread_cleanup_pop(0);                                                                  \
    ops->end(&w, result);

int turnwise_record_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct recorder_ops *ops)
{
    wait_fn *next = ops->wait();
    RECORDED(next ? next(cond, mutex) : ENOSYS)
    return result;
}

int turnwise_record_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *time,
                              const struct recorder_ops *ops)
{
    timedwait_fn *next = ops->timedwait();
    RECORDED(next ? next(cond, mutex, time) : ENOSYS)
    return result;
}

int turnwise_record_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                              const struct timespec *time, const struct recorder_ops *ops)
{
    clockwait_fn *next = ops->clockwait();
    RECORDED(next ? next(cond, mutex, clock, time) : ENOSYS)
    return result;
}

static int thrd_code(int result)
{
    return result == 0 ? thrd_success : result == ETIMEDOUT ? thrd_timedout : thrd_error;
}

/* `cnd_t` and `mtx_t` are the pthread types under another name. */
int turnwise_record_cnd_wait(cnd_t *cond, mtx_t *mutex, const struct recorder_ops *ops)
{
    wait_fn *next = ops->wait();
    RECORDED(next ? next((pthread_cond_t *)cond, (pthread_mutex_t *)mutex) : ENOSYS)
    return thrd_code(result);
}

int turnwise_record_cnd_timedwait(cnd_t *cond, mtx_t *mutex, const struct timespec *time,
                                  const struct recorder_ops *ops)
{
    timedwait_fn *next = ops->timedwait();
    RECORDED(next ? next((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, time) : ENOSYS)
    return thrd_code(result);
}
