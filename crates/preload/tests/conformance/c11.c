/* C11's mtx_* and cnd_*: what each call answers, as thrd_* names. */
#include "conformance.h"
#include <threads.h>

/* thrd_* codes as answers of their own, so that they do not print as errno names. */
enum { SUCCESS = 0, BUSY = -11, ERROR = -12, TIMEDOUT = -13, NOMEM = -14, OTHER = -15 };

static int code(int thrd)
{
    switch (thrd) {
    case thrd_success:
        return SUCCESS;
    case thrd_busy:
        return BUSY;
    case thrd_error:
        return ERROR;
    case thrd_timedout:
        return TIMEDOUT;
    case thrd_nomem:
        return NOMEM;
    default:
        return OTHER;
    }
}

static const int TYPES[] = {mtx_plain, mtx_timed, mtx_plain | mtx_recursive, mtx_timed | mtx_recursive};
enum { COUNT = sizeof TYPES / sizeof *TYPES };
#define IS_RECURSIVE (TYPES[variant] & mtx_recursive)

#define MTX(m)                                                                                                         \
    mtx_t m;                                                                                                           \
    memset(&m, 0xa5, sizeof m);                                                                                        \
    STEP(code(mtx_init(&m, TYPES[variant])))
#define TAKEN(m)                                                                                                       \
    MTX(m);                                                                                                            \
    STEP(code(mtx_lock(&m)))

static int try_lock(void *m)
{
    return code(mtx_trylock(m));
}

static int both(void *m)
{
    STEP(code(mtx_lock(m)));
    return code(mtx_unlock(m));
}

static int timed(void *m)
{
    struct timespec at = in_ns(CLOCK_REALTIME, SOON);
    return code(mtx_timedlock(m, &at));
}

SENTENCE(mtx_lock_and_unlock, SUCCESS, "A fresh mutex is locked and unlocked.")
{
    MTX(m);
    STEP(both(&m));
    return elsewhere(both, &m);
}

SENTENCE(mtx_trylock_takes_a_free_one, SUCCESS, "A try on a free mutex succeeds.")
{
    MTX(m);
    STEP(try_lock(&m));
    return code(mtx_unlock(&m));
}

SENTENCE(mtx_trylock_of_a_taken_one, BUSY, "A try on a taken one says thrd_busy.")
{
    TAKEN(m);
    return elsewhere(try_lock, &m);
}

SENTENCE(mtx_trylock_of_ones_own, IS_RECURSIVE ? SUCCESS : BUSY, "The owner's try: deeper if recursive.")
{
    TAKEN(m);
    return try_lock(&m);
}

SENTENCE(mtx_recursion_is_counted, IS_RECURSIVE ? YES : SKIP, "As many unlocks as locks.")
{
    TAKEN(m);
    STEP(code(mtx_lock(&m)));
    STEP(code(mtx_unlock(&m)));
    if (elsewhere(try_lock, &m) != BUSY)
        return NO;
    STEP(code(mtx_unlock(&m)));
    return yes_if(elsewhere(both, &m) == SUCCESS);
}

SENTENCE(mtx_lock_waits, YES, "A lock call waits until the owner unlocks.")
{
    struct call c;
    TAKEN(m);
    int waited = waits(&c, both, &m);
    STEP(code(mtx_unlock(&m)));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(mtx_timedlock_gives_up, TYPES[variant] & mtx_timed ? TIMEDOUT : SKIP, "At the time it says thrd_timedout.")
{
    TAKEN(m);
    return elsewhere(timed, &m);
}

SENTENCE(mtx_timedlock_takes_a_free_one, TYPES[variant] & mtx_timed ? SUCCESS : SKIP, "A free one is taken.")
{
    MTX(m);
    STEP(timed(&m));
    return code(mtx_unlock(&m));
}

SENTENCE(mtx_timedlock_with_a_bad_time, OPEN, "Nanoseconds of more than a second: an error.")
{
    struct timespec at = {.tv_nsec = SECOND};
    MTX(m);
    STEP(code(mtx_lock(&m)));
    return IS_RECURSIVE ? SKIP : code(mtx_timedlock(&m, &at));
}

SENTENCE(mtx_destroyed_can_be_made_again, SUCCESS, "After mtx_destroy comes mtx_init.")
{
    MTX(m);
    mtx_destroy(&m);
    STEP(code(mtx_init(&m, TYPES[variant])));
    return both(&m);
}

struct pair {
    mtx_t mutex;
    cnd_t cond;
    int flag, inside, gone;
};

#define PAIR(p)                                                                                                        \
    struct pair p = {.flag = 0};                                                                                       \
    STEP(code(mtx_init(&p.mutex, TYPES[variant])));                                                                    \
    STEP(code(cnd_init(&p.cond)))

static int wait_for_flag(void *argument)
{
    struct pair *p = argument;
    STEP(code(mtx_lock(&p->mutex)));
    p->inside++;
    while (!p->flag)
        STEP(code(cnd_wait(&p->cond, &p->mutex)));
    return code(mtx_unlock(&p->mutex));
}

static int timed_for_flag(void *argument)
{
    struct pair *p = argument;
    struct timespec at = in_ns(CLOCK_REALTIME, 20LL * SECOND);
    STEP(code(mtx_lock(&p->mutex)));
    p->inside++;
    while (!p->flag)
        STEP(code(cnd_timedwait(&p->cond, &p->mutex, &at)));
    return code(mtx_unlock(&p->mutex));
}

static void until_inside(struct pair *p, int count)
{
    for (int found = 0; found != count; sleep_ns(MS / 4)) {
        MUST(mtx_lock(&p->mutex) == thrd_success);
        found = p->inside;
        MUST(mtx_unlock(&p->mutex) == thrd_success);
    }
}

static int raise_flag(struct pair *p, int (*call)(cnd_t *))
{
    STEP(code(mtx_lock(&p->mutex)));
    p->flag = 1;
    STEP(code(call(&p->cond)));
    return code(mtx_unlock(&p->mutex));
}

SENTENCE(cnd_without_waiters, SUCCESS, "Signals and broadcasts with nobody waiting do nothing.")
{
    PAIR(p);
    STEP(code(cnd_signal(&p.cond)));
    return code(cnd_broadcast(&p.cond));
}

SENTENCE(cnd_signal_wakes, SUCCESS, "A signal wakes a waiter.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    STEP(raise_flag(&p, cnd_signal));
    return end(&c);
}

SENTENCE(cnd_broadcast_wakes_all, SUCCESS, "A broadcast wakes all of them, timed and not.")
{
    struct call c[4];
    PAIR(p);
    for (int i = 0; i < 4; i++)
        begin(&c[i], i % 2 ? wait_for_flag : timed_for_flag, &p);
    until_inside(&p, 4);
    STEP(raise_flag(&p, cnd_broadcast));
    for (int i = 0; i < 4; i++)
        STEP(end(&c[i]));
    cnd_destroy(&p.cond);
    return SUCCESS;
}

SENTENCE(mtx_destroy_while_one_waits, SUCCESS, "Undefined; the C library does nothing, and all goes on.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    mtx_destroy(&p.mutex);
    STEP(both(&p.mutex));
    STEP(raise_flag(&p, cnd_signal));
    return end(&c);
}

SENTENCE(cnd_timedwait_gives_up, TIMEDOUT, "At the time it says thrd_timedout, and the mutex is had.")
{
    int answer;
    PAIR(p);
    struct timespec at = in_ns(CLOCK_REALTIME, SOON);
    STEP(code(mtx_lock(&p.mutex)));
    while ((answer = code(cnd_timedwait(&p.cond, &p.mutex, &at))) == SUCCESS) {
    }
    return elsewhere(try_lock, &p.mutex) == BUSY ? answer : NO;
}

static void cleanup(void *argument)
{
    struct pair *p = argument;
    p->gone++;
    MUST(mtx_unlock(&p->mutex) == thrd_success);
}

static int wait_for_ever(void *argument)
{
    struct pair *p = argument;
    struct timespec at = in_ns(CLOCK_REALTIME, 20LL * SECOND);
    STEP(code(mtx_lock(&p->mutex)));
    p->inside++;
    pthread_cleanup_push(cleanup, p);
    while (p->inside)
        MUST((p->flag ? cnd_timedwait(&p->cond, &p->mutex, &at) : cnd_wait(&p->cond, &p->mutex)) == thrd_success);
    pthread_cleanup_pop(1);
    return SUCCESS;
}

/* POSIX counts both as cancellation points. */
SENTENCE(cnd_waits_are_cancellation_points, YES, "A cancelled waiter runs its handlers with the mutex, and ends.")
{
    for (int is_timed = 0; is_timed < 2; is_timed++) {
        struct call c;
        PAIR(p);
        p.flag = is_timed;
        begin(&c, wait_for_ever, &p);
        until_inside(&p, 1);
        sleep_ns(MS);
        MUST(pthread_cancel(c.thread) == 0);
        end(&c);
        if (is_done(&c) || p.gone != 1 || try_lock(&p.mutex) != SUCCESS)
            return NO;
        cnd_destroy(&p.cond);
    }
    return YES;
}

static once_flag flag = ONCE_FLAG_INIT;
static int runs;
static void run(void)
{
    runs++;
}

SENTENCE(call_once_runs_once, ONCE(1), "The first call runs the routine, later ones do not.")
{
    call_once(&flag, run);
    call_once(&flag, run);
    return runs;
}

int main(void)
{
    static const char *const names[COUNT] = {"plain", "timed", "recursive", "timed recursive"};
    return ask_all(names, COUNT) != 0;
}
