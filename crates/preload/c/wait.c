/*
 * The sleep of the condition variable: a cancellation point, so it must be C. A cancelled thread unwinds its stack from
 * here to its start routine; no Rust frame may lie in between. The exported functions jump here (src/exports/cond.rs),
 * and everything that needs no sleep is done by Rust functions that return before it (struct turnwise_ops).
 *
 * Cancellation is asynchronous during the system call only, so that a thread that sleeps is cancelled, too. The cleanup
 * handler acquires the mutex again before the program's own handlers run, and passes on a wake-up that this thread may
 * have consumed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

struct waiter {
    pthread_cond_t *cond;
    pthread_mutex_t *mutex;
    const struct turnwise_ops *ops;
    uint32_t sequence, counted;
    const void *caller; /* the address to which the program's call returns */
    const struct timespec *time; /* until when, on the kernel's clock after `begin` */
    struct timespec turned;
};

/* What `begin` answers, beside errno values. */
enum { SLEEP = 0, FOREIGN = -1, FOREIGN_COND_ONLY = -2, NOTIFIED = -3 };
/* How the sleep ended, for `end`. */
enum { BY_ITSELF = 0, WOKEN = 1, CANCELLED = 2 };
/* No clock given: the condition variable's own. */
enum { OWN_CLOCK = -1 };

typedef int wait_fn(pthread_cond_t *, pthread_mutex_t *);
typedef int timedwait_fn(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int clockwait_fn(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

struct foreign_waits {
    wait_fn *wait;
    timedwait_fn *timedwait;
    clockwait_fn *clockwait;
};

/* The Rust half: src/exports/cond.rs, `Ops`, keeps the same order. */
struct turnwise_ops {
    /* Checks the arguments, finds the clock, arrives, releases the mutex; may look for a notification. */
    int (*begin)(struct waiter *, clockid_t *clock, const struct timespec *time);
    /* Leaves, acquires the mutex; 0 or the mutex's error. */
    int (*end)(struct waiter *, int how);
    /* Releases and acquires the mutex, which stays in use meanwhile. */
    int (*unlock)(struct waiter *);
    int (*lock)(struct waiter *);
    int (*real_unlock)(pthread_mutex_t *);
    int (*real_lock)(pthread_mutex_t *);
    void (*foreign_waits)(struct foreign_waits *);
};

static void cancelled(void *argument)
{
    struct waiter *w = argument;
    w->ops->end(w, CANCELLED);
}

static int passed(clockid_t clock, const struct timespec *time)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec != time->tv_sec ? now.tv_sec > time->tv_sec : now.tv_nsec >= time->tv_nsec;
}

/* Ends the process as the C library does: what lies there was unmapped, or is at an odd address. */
__attribute__((noreturn)) static void refused(void)
{
    static const char why[] = "The futex facility returned an unexpected error code.\n";
    ssize_t written = write(STDERR_FILENO, why, sizeof why - 1);
    (void)written;
    abort();
}

/* Sleeps until the sequence changes or `time` passes: 0 or an errno value. The kernel refuses negative times. */
static int sleep_once(const struct waiter *w, clockid_t clock, const struct timespec *time)
{
    /* Without a time the clock says nothing, and the C library names this one: a filter may look at the operation. */
    int real = !time || clock == CLOCK_REALTIME;
    int op = FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG | (real ? FUTEX_CLOCK_REALTIME : 0);
    if (time && time->tv_sec < 0)
        return ETIMEDOUT;
    if (syscall(SYS_futex, w->cond, op, w->sequence, time, NULL, FUTEX_BITSET_MATCH_ANY) == 0)
        return 0;
    if (errno == EFAULT || errno == EINVAL)
        refused();
    return errno;
}

/*
 * Up to glibc 2.40 pthread_cancel of a thread with asynchronous cancellation marks it, then sends it a signal. Were we
 * to leave the asynchronous section between the two, the signal would come late; if the thread ends meanwhile, its
 * result may be lost. glibc's own waits stay until the signal is there, and so do we, asleep on the mark as they are.
 * The mark is in the thread's descriptor; glibc describes the place to debuggers: bits, elements, offset.
 */
enum { CANCELING = 4, CANCELED = 8, PATIENCE = 100, NAP_NS = 100000 };

static const uint32_t *cancel_field;

__attribute__((constructor)) static void find_cancel_field(void)
{
    const uint32_t *field = dlsym(RTLD_DEFAULT, "_thread_db_pthread_cancelhandling");
    if (field && field[0] == 32 && field[1] == 1 && field[2] % 4 == 0)
        cancel_field = field;
}

static void await_cancellation_under_way(void)
{
    if (!cancel_field)
        return;
    const volatile uint32_t *flags = (const volatile uint32_t *)((const char *)pthread_self() + cancel_field[2]);
    const struct timespec nap = {.tv_nsec = NAP_NS};
    for (int i = 0; i < PATIENCE; i++) {
        uint32_t found = *flags;
        if ((found & (CANCELING | CANCELED)) != CANCELING)
            return;
        /* Does not return once the signal is there. */
        syscall(SYS_futex, flags, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, found, &nap);
    }
}

static int sleep_cancellable(struct waiter *w, clockid_t clock, const struct timespec *time)
{
    int type, result, saved = errno;
    pthread_cleanup_push(cancelled, w);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    do
        result = sleep_once(w, clock, time);
    while (result == EINTR);
    await_cancellation_under_way();
    pthread_setcanceltype(type, NULL);
    pthread_cleanup_pop(0);
    errno = saved;
    return result;
}

/*
 * A process-shared condition variable, which is the C library's, with a mutex that is not. The C library cannot release
 * our mutex, so it gets one of its own, and ours is released first. A signal between the two is missed; hence no wait
 * lasts longer than POLL_NS, and one that was cut short returns as a spurious wake-up.
 */
enum { POLL_NS = 2000000, SECOND_NS = 1000000000 };

struct polled {
    struct waiter *w;
    pthread_mutex_t inner;
};

static void polled_cancelled(void *argument)
{
    struct polled *p = argument;
    p->w->ops->real_unlock(&p->inner);
    p->w->ops->lock(p->w);
}

/* The nearer of POLL_NS from now and `time` on `clock`, on the monotonic clock. */
static struct timespec poll_limit(clockid_t clock, const struct timespec *time)
{
    struct timespec now;
    int64_t ns = POLL_NS;
    if (time) {
        clock_gettime(clock, &now);
        int64_t seconds = (int64_t)time->tv_sec - now.tv_sec;
        if (seconds <= 1) {
            int64_t left = seconds * SECOND_NS + time->tv_nsec - now.tv_nsec;
            ns = left < 0 ? 0 : left < ns ? left : ns;
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_nsec += ns;
    if (now.tv_nsec >= SECOND_NS) {
        now.tv_nsec -= SECOND_NS;
        now.tv_sec++;
    }
    return now;
}

static int wait_polled(struct waiter *w, const struct foreign_waits *real, clockid_t clock, const struct timespec *time)
{
    struct polled p = {.w = w, .inner = PTHREAD_MUTEX_INITIALIZER};
    struct timespec limit = poll_limit(clock, time);
    int result;
    w->ops->real_lock(&p.inner);
    result = w->ops->unlock(w);
    if (result) {
        w->ops->real_unlock(&p.inner);
        return result;
    }
    pthread_cleanup_push(polled_cancelled, &p);
    result = real->clockwait(w->cond, &p.inner, CLOCK_MONOTONIC, &limit);
    pthread_cleanup_pop(1);
    if (result == ETIMEDOUT && !(time && passed(clock, time)))
        return 0;
    return result;
}

static int wait_foreign(struct waiter *w, int with, clockid_t own, clockid_t clock, const struct timespec *time)
{
    struct foreign_waits real;
    w->ops->foreign_waits(&real);
    if (with == FOREIGN_COND_ONLY)
        return real.clockwait ? wait_polled(w, &real, clock, time) : ENOSYS;
    if (!time)
        return real.wait(w->cond, w->mutex);
    if (own == OWN_CLOCK)
        return real.timedwait(w->cond, w->mutex, time);
    return real.clockwait ? real.clockwait(w->cond, w->mutex, clock, time) : ENOSYS;
}

static int wait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t own, const struct timespec *time,
                const struct turnwise_ops *ops, const void *caller)
{
    struct waiter w = {.cond = cond, .mutex = mutex, .ops = ops, .caller = caller, .time = time};
    clockid_t clock = own;
    int result, relocked;
    /* One that is notified as it looks does not sleep, and could be so for ever: act on a cancellation while the mutex
     * is the caller's. */
    pthread_testcancel();
    result = ops->begin(&w, &clock, time);
    if (result == NOTIFIED)
        return ops->end(&w, BY_ITSELF);
    if (result == FOREIGN || result == FOREIGN_COND_ONLY)
        return wait_foreign(&w, result, own, clock, time);
    if (result != SLEEP)
        return result;
    result = sleep_cancellable(&w, clock, w.time);
    relocked = ops->end(&w, result == 0 ? WOKEN : BY_ITSELF);
    if (relocked)
        return relocked;
    return result == ETIMEDOUT ? ETIMEDOUT : 0;
}

/* The exported functions jump to these, so the call returns to the program. */
#define CALLER __builtin_return_address(0)

int turnwise_cond_wait(pthread_cond_t *c, pthread_mutex_t *m, const struct turnwise_ops *ops)
{
    return wait(c, m, OWN_CLOCK, NULL, ops, CALLER);
}

int turnwise_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *time,
                            const struct turnwise_ops *ops)
{
    return time ? wait(c, m, OWN_CLOCK, time, ops, CALLER) : EINVAL;
}

int turnwise_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock, const struct timespec *time,
                            const struct turnwise_ops *ops)
{
    return time && clock != OWN_CLOCK ? wait(c, m, clock, time, ops, CALLER) : EINVAL;
}

static int thrd_code(int result)
{
    return result == 0 ? thrd_success : result == ETIMEDOUT ? thrd_timedout : thrd_error;
}

int turnwise_cnd_wait(cnd_t *c, mtx_t *m, const struct turnwise_ops *ops)
{
    return thrd_code(wait((pthread_cond_t *)c, (pthread_mutex_t *)m, OWN_CLOCK, NULL, ops, CALLER));
}

int turnwise_cnd_timedwait(cnd_t *c, mtx_t *m, const struct timespec *time, const struct turnwise_ops *ops)
{
    if (!time)
        return thrd_error;
    return thrd_code(wait((pthread_cond_t *)c, (pthread_mutex_t *)m, OWN_CLOCK, time, ops, CALLER));
}
