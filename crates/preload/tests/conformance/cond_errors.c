/* Waits that end otherwise than by a wake-up, or do not begin: what becomes of the mutex, and what they leave. */
#include "cond.h"

#define RECURSIVE (KINDS[variant].mutex_type == PTHREAD_MUTEX_RECURSIVE)
#define ERRORCHECK (KINDS[variant].mutex_type == PTHREAD_MUTEX_ERRORCHECK)

static int times_out(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    int answer = wait_out(p, in_ns(p->clock, SOON));
    p->gone++;
    STEP(pthread_mutex_unlock(&p->mutex));
    return answer;
}

SENTENCE(timed_out_but_the_mutex_is_taken, ETIMEDOUT, "Also when its time is out, a wait ends with the mutex only.")
{
    struct call c;
    PAIR(p);
    begin(&c, times_out, &p);
    until_inside(&p, 1);
    STEP(pthread_mutex_lock(&p.mutex));
    int gone = p.gone; /* 1 if we came late: nothing is asked then */
    sleep_ns(2 * SOON);
    int gone_past_us = p.gone - gone;
    STEP(pthread_mutex_unlock(&p.mutex));
    int answer = end(&c);
    return gone_past_us ? NO : answer;
}

static void cleanup(void *argument)
{
    struct pair *p = argument;
    p->gone++;
    MUST(pthread_mutex_unlock(&p->mutex) == 0);
}

static int wait_for_ever(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    pthread_cleanup_push(cleanup, p);
    while (p->inside)
        STEP(pthread_cond_wait(&p->cond, &p->mutex));
    pthread_cleanup_pop(1);
    return 0;
}

SENTENCE(cancelled_but_the_mutex_is_taken, YES, "The handlers of a cancelled waiter run when it has the mutex.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_ever, &p);
    until_inside(&p, 1);
    STEP(pthread_mutex_lock(&p.mutex));
    MUST(pthread_cancel(c.thread) == 0);
    sleep_ns(SOON);
    int too_soon = p.gone;
    STEP(pthread_mutex_unlock(&p.mutex));
    end(&c);
    return yes_if(!too_soon && p.gone == 1 && try_lock(&p.mutex) == 0);
}

SENTENCE(refused_wait_leaves_nothing, ERRORCHECK ? 0 : SKIP, "A wait without the mutex is not waited for by destroy.")
{
    PAIR(p);
    if (pthread_cond_wait(&p.cond, &p.mutex) != EPERM)
        return NO;
    STEP(pthread_mutex_lock(&p.mutex));
    if (wait_out(&p, in_ns(p.clock, MS)) != ETIMEDOUT)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    return pthread_cond_destroy(&p.cond);
}

static int wait_with_two(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    STEP(pthread_mutex_lock(&p->mutex));
    __atomic_store_n(&p->inside, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&p->flag, __ATOMIC_SEQ_CST))
        STEP(pthread_cond_wait(&p->cond, &p->mutex));
    STEP(pthread_mutex_unlock(&p->mutex));
    STEP(pthread_mutex_unlock(&p->mutex));
    return pthread_mutex_unlock(&p->mutex);
}

/* POSIX warns that the wait may release one of the two only. The signaller then cannot have the mutex, so it goes on
   until it is heard. */
SENTENCE(wait_with_the_mutex_locked_twice, RECURSIVE ? OPEN : SKIP, "Whether others may have the mutex meanwhile.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_with_two, &p);
    while (!__atomic_load_n(&p.inside, __ATOMIC_SEQ_CST))
        sched_yield();
    sleep_ns(SOON);
    int answer = try_lock(&p.mutex);
    if (answer == 0)
        STEP(pthread_mutex_unlock(&p.mutex));
    __atomic_store_n(&p.flag, 1, __ATOMIC_SEQ_CST);
    while (!is_done(&c)) {
        STEP(pthread_cond_broadcast(&p.cond));
        sleep_ns(MS / 4);
    }
    return end(&c) == EPERM ? answer : NO;
}

SENTENCE(timed_out_with_the_mutex_locked_twice, RECURSIVE ? EPERM : SKIP, "It is locked twice again afterwards.")
{
    LOCKED(p);
    STEP(pthread_mutex_lock(&p.mutex));
    if (wait_out(&p, in_ns(p.clock, MS)) != ETIMEDOUT)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    if (elsewhere(try_lock, &p.mutex) != EBUSY)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    return pthread_mutex_unlock(&p.mutex);
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
