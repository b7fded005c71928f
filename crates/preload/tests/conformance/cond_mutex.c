/* The mutex of a condition wait is in use until the wait is over, however it ends: what `pthread_mutex_destroy` says to
   that. POSIX leaves it undefined while somebody waits; the C library says EBUSY, and programs go on. Robust mutexes
   are destroyed under their waiters there; they are asked about the end of a wait only. */
#define WITH_ROBUST
#include "cond.h"

#define ROBUST (KINDS[variant].robust == PTHREAD_MUTEX_ROBUST)
#define RECURSIVE (KINDS[variant].mutex_type == PTHREAD_MUTEX_RECURSIVE)
#define ERRORCHECK (KINDS[variant].mutex_type == PTHREAD_MUTEX_ERRORCHECK)

/* The answer if a thread waits meanwhile, which then finds everything in order. */
static int beside_a_waiter(struct pair *p, int (*what)(struct pair *))
{
    struct call c;
    begin(&c, wait_for_flag, p);
    until_inside(p, 1);
    int answer = what(p);
    STEP(raise_flag(p, pthread_cond_broadcast, 1));
    STEP(end(&c));
    return answer;
}

static int destroy(struct pair *p)
{
    return pthread_mutex_destroy(&p->mutex);
}

SENTENCE(destroy_while_one_waits, ROBUST ? SKIP : EBUSY, "The mutex of a wait is in use, though it is unlocked.")
{
    PAIR(p);
    return beside_a_waiter(&p, destroy);
}

static int destroy_and_lock(struct pair *p)
{
    if (pthread_mutex_destroy(&p->mutex) != EBUSY)
        return NO;
    STEP(pthread_mutex_lock(&p->mutex));
    if (elsewhere(try_lock, &p->mutex) != EBUSY || pthread_mutex_destroy(&p->mutex) != EBUSY)
        return NO;
    return pthread_mutex_unlock(&p->mutex);
}

SENTENCE(refused_destroy_changes_nothing, ROBUST ? SKIP : 0, "It can be locked and unlocked as before.")
{
    PAIR(p);
    return beside_a_waiter(&p, destroy_and_lock);
}

SENTENCE(destroy_when_the_waiter_is_gone, 0, "When the wait is over, nobody uses it any more.")
{
    PAIR(p);
    if (!ROBUST && beside_a_waiter(&p, destroy) != EBUSY)
        return NO;
    return pthread_mutex_destroy(&p.mutex);
}

SENTENCE(destroy_while_some_still_wait, ROBUST ? SKIP : EBUSY, "One of three has gone: two are left.")
{
    struct call c[3];
    PAIR(p);
    for (int i = 0; i < 3; i++)
        begin(&c[i], wait_for_token, &p);
    until_inside(&p, 3);
    STEP(raise_flag(&p, pthread_cond_signal, 1));
    while (!is_done(&c[0]) && !is_done(&c[1]) && !is_done(&c[2]))
        sched_yield();
    int answer = pthread_mutex_destroy(&p.mutex);
    STEP(raise_flag(&p, pthread_cond_broadcast, 2));
    for (int i = 0; i < 3; i++)
        STEP(end(&c[i]));
    STEP(pthread_mutex_destroy(&p.mutex));
    return answer;
}

SENTENCE(destroy_after_a_time_out, 0, "A wait that gave up has left.")
{
    LOCKED(p);
    if (wait_out(&p, in_ns(p.clock, MS)) != ETIMEDOUT || wait_out(&p, in_ns(p.clock, -MS)) != ETIMEDOUT)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    return pthread_mutex_destroy(&p.mutex);
}

SENTENCE(destroy_after_a_refused_wait, 0, "A wait that was refused for its time has not begun.")
{
    LOCKED(p);
    struct timespec at = in_ns(p.clock, SECOND);
    at.tv_nsec = SECOND;
    if (pthread_cond_timedwait(&p.cond, &p.mutex, &at) != EINVAL)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    return pthread_mutex_destroy(&p.mutex);
}

SENTENCE(destroy_after_a_wait_without_it, ERRORCHECK ? 0 : SKIP, "Nor has one without the mutex.")
{
    PAIR(p);
    if (pthread_cond_wait(&p.cond, &p.mutex) != EPERM)
        return NO;
    return pthread_mutex_destroy(&p.mutex);
}

static int wait_without_it(void *argument)
{
    struct pair *p = argument;
    return pthread_cond_wait(&p->cond, &p->mutex);
}

SENTENCE(destroy_after_a_wait_with_anothers, ERRORCHECK ? 0 : SKIP, "Nor one with a mutex that another thread has.")
{
    LOCKED(p);
    if (elsewhere(wait_without_it, &p) != EPERM)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    return pthread_mutex_destroy(&p.mutex);
}

SENTENCE(destroy_after_a_wait_locked_twice, RECURSIVE ? 0 : SKIP, "Nor does a second lock stay counted.")
{
    LOCKED(p);
    STEP(pthread_mutex_lock(&p.mutex));
    if (wait_out(&p, in_ns(p.clock, MS)) != ETIMEDOUT)
        return NO;
    if (pthread_mutex_destroy(&p.mutex) != EBUSY)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    STEP(pthread_mutex_unlock(&p.mutex));
    return pthread_mutex_destroy(&p.mutex);
}

static void destroy_and_unlock(void *argument)
{
    struct pair *p = argument;
    p->gone = pthread_mutex_destroy(&p->mutex);
    MUST(pthread_mutex_unlock(&p->mutex) == 0);
}

static int wait_for_ever(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    pthread_cleanup_push(destroy_and_unlock, p);
    while (p->inside)
        STEP(pthread_cond_wait(&p->cond, &p->mutex));
    pthread_cleanup_pop(1);
    return 0;
}

SENTENCE(destroy_after_a_cancellation, ROBUST ? SKIP : 0, "A cancelled waiter's handlers have it; then it is free.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_ever, &p);
    until_inside(&p, 1);
    if (pthread_mutex_destroy(&p.mutex) != EBUSY)
        return NO;
    MUST(pthread_cancel(c.thread) == 0);
    end(&c);
    return p.gone == EBUSY ? pthread_mutex_destroy(&p.mutex) : NO;
}

static void nothing(int signal)
{
    (void)signal;
}

SENTENCE(destroy_beside_a_signal_handler, ROBUST ? SKIP : EBUSY, "A handler that runs in a waiter ends nothing.")
{
    struct call c;
    PAIR(p);
    struct sigaction action = {.sa_handler = nothing};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    int answer = EBUSY;
    for (int i = 0; i < 5; i++) {
        MUST(pthread_kill(c.thread, SIGUSR1) == 0);
        sleep_ns(MS);
        if (pthread_mutex_destroy(&p.mutex) != EBUSY)
            answer = NO;
    }
    STEP(raise_flag(&p, pthread_cond_signal, 1));
    STEP(end(&c));
    return answer;
}

static int last_one_destroys(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    while (!p->flag)
        STEP(pthread_cond_wait(&p->cond, &p->mutex));
    int is_last = ++p->gone == 3;
    STEP(pthread_mutex_unlock(&p->mutex));
    return is_last ? pthread_mutex_destroy(&p->mutex) : 0;
}

SENTENCE(destroyed_by_the_last_waiter, 0, "The last of those that wait destroys it as soon as it has unlocked it.")
{
    struct call c[3];
    PAIR(p);
    for (int i = 0; i < 3; i++)
        begin(&c[i], last_one_destroys, &p);
    until_inside(&p, 3);
    STEP(raise_flag(&p, pthread_cond_broadcast, 1));
    for (int i = 0; i < 3; i++)
        STEP(end(&c[i]));
    return 0;
}

SENTENCE(made_again_without_waiters, 0, "A mutex made where one was destroyed knows nothing of its waits.")
{
    PAIR(p);
    struct call c;
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    STEP(raise_flag(&p, pthread_cond_broadcast, 1));
    STEP(end(&c));
    STEP(pthread_mutex_destroy(&p.mutex));
    STEP(make(variant, &p));
    return pthread_mutex_destroy(&p.mutex);
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
