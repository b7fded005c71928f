/* pthread_cond_*: for every kind of condition variable with several kinds of mutex. */
#include "cond.h"

SENTENCE(signal_without_waiters, 0, "A signal with nobody waiting does nothing.")
{
    PAIR(p);
    return pthread_cond_signal(&p.cond);
}

SENTENCE(broadcast_without_waiters, 0, "Nor does a broadcast.")
{
    PAIR(p);
    return pthread_cond_broadcast(&p.cond);
}

SENTENCE(signals_are_not_kept, ETIMEDOUT, "A wait that begins after a signal does not see it.")
{
    LOCKED(p);
    STEP(pthread_cond_signal(&p.cond));
    STEP(pthread_cond_broadcast(&p.cond));
    return wait_out(&p, in_ns(p.clock, SOON));
}

SENTENCE(signal_wakes_a_waiter, 0, "A signal wakes at least one of those that wait.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    STEP(raise_flag(&p, pthread_cond_signal, 1));
    return end(&c);
}

SENTENCE(broadcast_wakes_everybody, 5, "A broadcast wakes all that wait.")
{
    struct call c[5];
    PAIR(p);
    for (int i = 0; i < 5; i++)
        begin(&c[i], wait_for_flag, &p);
    until_inside(&p, 5);
    STEP(raise_flag(&p, pthread_cond_broadcast, 1));
    for (int i = 0; i < 5; i++)
        STEP(end(&c[i]));
    return p.woken;
}

SENTENCE(a_signal_for_each, 4, "As many signals as waiters release all of them.")
{
    struct call c[4];
    PAIR(p);
    for (int i = 0; i < 4; i++)
        begin(&c[i], wait_for_token, &p);
    until_inside(&p, 4);
    for (int i = 0; i < 4; i++) {
        STEP(pthread_mutex_lock(&p.mutex));
        p.flag++;
        STEP(pthread_cond_signal(&p.cond));
        STEP(pthread_mutex_unlock(&p.mutex));
    }
    for (int i = 0; i < 4; i++)
        STEP(end(&c[i]));
    return p.woken;
}

SENTENCE(signal_without_the_mutex, 0, "The signaller need not have the mutex.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    STEP(pthread_mutex_lock(&p.mutex));
    p.flag = 1;
    STEP(pthread_mutex_unlock(&p.mutex));
    STEP(pthread_cond_signal(&p.cond));
    return end(&c);
}

SENTENCE(wait_releases_the_mutex, 0, "While a thread waits, others may have the mutex.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    STEP(pthread_mutex_lock(&p.mutex));
    sleep_ns(MS);
    STEP(pthread_mutex_unlock(&p.mutex));
    STEP(raise_flag(&p, pthread_cond_broadcast, 1));
    return end(&c);
}

SENTENCE(wait_returns_with_the_mutex, EBUSY, "A timed-out wait has the mutex again.")
{
    LOCKED(p);
    if (wait_out(&p, in_ns(p.clock, SOON)) != ETIMEDOUT)
        return NO;
    return elsewhere(try_lock, &p.mutex);
}

SENTENCE(woken_but_the_mutex_is_taken, YES, "A woken thread goes on only when it gets the mutex.")
{
    struct call c;
    PAIR(p);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    STEP(pthread_mutex_lock(&p.mutex));
    p.flag = 1;
    STEP(pthread_cond_broadcast(&p.cond));
    sleep_ns(SOON);
    int waited = !is_done(&c);
    STEP(pthread_mutex_unlock(&p.mutex));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(timedwait_gives_up, ETIMEDOUT, "On the condition variable's own clock.")
{
    LOCKED(p);
    return wait_out(&p, in_ns(p.clock, SOON));
}

SENTENCE(timedwait_is_not_early, YES, "Not before the time.")
{
    LOCKED(p);
    long long begun = now_ns();
    if (wait_out(&p, in_ns(p.clock, SOON)) != ETIMEDOUT)
        return NO;
    return yes_if(now_ns() - begun >= SOON - MS);
}

SENTENCE(timedwait_in_the_past, ETIMEDOUT, "A time that has passed ends the wait at once.")
{
    LOCKED(p);
    return wait_out(&p, in_ns(p.clock, -3LL * SECOND));
}

SENTENCE(timedwait_before_the_epoch, ETIMEDOUT, "So does a time before the clock's beginning.")
{
    LOCKED(p);
    return wait_out(&p, (struct timespec){.tv_sec = -7, .tv_nsec = 5});
}

SENTENCE(timedwait_in_the_past_keeps_the_mutex, EBUSY, "Also then the mutex is had again.")
{
    LOCKED(p);
    if (wait_out(&p, in_ns(p.clock, -3LL * SECOND)) != ETIMEDOUT)
        return NO;
    return elsewhere(try_lock, &p.mutex);
}

static int with_ns(struct pair *p, long ns)
{
    struct timespec at = in_ns(p->clock, SECOND);
    at.tv_nsec = ns;
    return pthread_cond_timedwait(&p->cond, &p->mutex, &at);
}

SENTENCE(timedwait_with_a_whole_second, EINVAL, "Nanoseconds of a second and more.")
{
    LOCKED(p);
    return with_ns(&p, SECOND);
}

SENTENCE(timedwait_with_negative_ns, EINVAL, "Negative nanoseconds.")
{
    LOCKED(p);
    return with_ns(&p, -1);
}

SENTENCE(bad_time_keeps_the_mutex, EBUSY, "A refused wait leaves the mutex with the caller.")
{
    LOCKED(p);
    if (with_ns(&p, SECOND) != EINVAL)
        return NO;
    return elsewhere(try_lock, &p.mutex);
}

static int clockwait_out(struct pair *p, clockid_t clock)
{
    long long begun = now_ns();
    struct timespec at = in_ns(clock, SOON);
    int answer;
    while ((answer = pthread_cond_clockwait(&p->cond, &p->mutex, clock, &at)) == 0) {
    }
    return now_ns() - begun >= SOON - MS ? answer : NO;
}

SENTENCE(clockwait_on_the_wall_clock, ETIMEDOUT, "Whatever its own clock is.")
{
    LOCKED(p);
    return clockwait_out(&p, CLOCK_REALTIME);
}

SENTENCE(clockwait_on_the_monotonic_clock, ETIMEDOUT, "Likewise.")
{
    LOCKED(p);
    return clockwait_out(&p, CLOCK_MONOTONIC);
}

SENTENCE(clockwait_on_no_such_clock, EINVAL, "Waits are not measured in CPU time.")
{
    LOCKED(p);
    struct timespec at = in_ns(CLOCK_MONOTONIC, SOON);
    return pthread_cond_clockwait(&p.cond, &p.mutex, CLOCK_THREAD_CPUTIME_ID, &at);
}

SENTENCE(clockwait_with_a_bad_time, EINVAL, "Nanoseconds of a second and more.")
{
    LOCKED(p);
    struct timespec at = {.tv_nsec = SECOND};
    return pthread_cond_clockwait(&p.cond, &p.mutex, CLOCK_MONOTONIC, &at);
}

SENTENCE(clockwait_in_the_past, ETIMEDOUT, "A time that has passed on either clock ends the wait at once.")
{
    LOCKED(p);
    struct timespec wall = in_ns(CLOCK_REALTIME, -MS), monotonic = in_ns(CLOCK_MONOTONIC, -MS);
    int answer = pthread_cond_clockwait(&p.cond, &p.mutex, CLOCK_REALTIME, &wall);
    if (elsewhere(try_lock, &p.mutex) != EBUSY)
        return NO;
    int other = pthread_cond_clockwait(&p.cond, &p.mutex, CLOCK_MONOTONIC, &monotonic);
    return other == answer && elsewhere(try_lock, &p.mutex) == EBUSY ? answer : NO;
}

/* One wait, which ends in one way or the other; whether it found the flag up. */
static int clocked_and_looks(void *argument)
{
    struct pair *p = argument;
    struct timespec at = in_ns(CLOCK_MONOTONIC, SOON);
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    int answer = 0;
    while (!p->flag && answer == 0)
        answer = pthread_cond_clockwait(&p->cond, &p->mutex, CLOCK_MONOTONIC, &at);
    if (answer != 0 && answer != ETIMEDOUT)
        return answer;
    answer = yes_if(p->flag);
    p->gone++;
    STEP(pthread_mutex_unlock(&p->mutex));
    return answer;
}

SENTENCE(raised_while_the_time_ran_out, YES, "Who is late to get the mutex sees what was signalled meanwhile.")
{
    struct call c;
    PAIR(p);
    begin(&c, clocked_and_looks, &p);
    until_inside(&p, 1);
    STEP(pthread_mutex_lock(&p.mutex));
    int was_early = p.gone; /* we came late: nothing is asked then */
    sleep_ns(2 * SOON);
    p.flag = 1;
    STEP(pthread_cond_signal(&p.cond));
    STEP(pthread_mutex_unlock(&p.mutex));
    int answer = end(&c);
    return was_early ? YES : answer;
}

static int timed_for_flag(void *argument)
{
    struct pair *p = argument;
    struct timespec at = in_ns(p->clock, 20LL * SECOND);
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    while (!p->flag)
        STEP(pthread_cond_timedwait(&p->cond, &p->mutex, &at));
    return pthread_mutex_unlock(&p->mutex);
}

static int clocked_for_flag(void *argument)
{
    struct pair *p = argument;
    struct timespec at = in_ns(CLOCK_MONOTONIC, 20LL * SECOND);
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    while (!p->flag)
        STEP(pthread_cond_clockwait(&p->cond, &p->mutex, CLOCK_MONOTONIC, &at));
    return pthread_mutex_unlock(&p->mutex);
}

SENTENCE(timed_waits_are_woken, 0, "A wake-up ends timed waits long before their time.")
{
    struct call timed, clocked;
    PAIR(p);
    long long begun = now_ns();
    begin(&timed, timed_for_flag, &p);
    begin(&clocked, clocked_for_flag, &p);
    until_inside(&p, 2);
    STEP(raise_flag(&p, pthread_cond_broadcast, 1));
    STEP(end(&timed));
    STEP(end(&clocked));
    return now_ns() - begun < 10LL * SECOND ? 0 : NO;
}

SENTENCE(wait_without_the_mutex, KINDS[variant].mutex_type == PTHREAD_MUTEX_ERRORCHECK ? EPERM : SKIP,
         "A mutex that knows its owner: who does not have it may not wait.")
{
    PAIR(p);
    return pthread_cond_wait(&p.cond, &p.mutex);
}

static int handled;
static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

SENTENCE(signals_do_not_end_a_wait_by_error, 0, "After a handler a wait goes on or returns 0, never EINTR.")
{
    struct call c;
    PAIR(p);
    struct sigaction action = {.sa_handler = count_signal};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    begin(&c, wait_for_flag, &p);
    until_inside(&p, 1);
    for (int i = 0; i < 3; i++) {
        MUST(pthread_kill(c.thread, SIGUSR1) == 0);
        sleep_ns(MS);
    }
    STEP(raise_flag(&p, pthread_cond_signal, 1));
    return end(&c);
}

static int keeps_errno(void *argument)
{
    errno = 4711;
    STEP(wait_for_flag(argument));
    return errno == 4711 ? 0 : NO;
}

SENTENCE(errno_is_left_alone, 0, "Errors are returned, not left in errno.")
{
    struct call c;
    PAIR(p);
    begin(&c, keeps_errno, &p);
    until_inside(&p, 1);
    errno = 4712;
    STEP(raise_flag(&p, pthread_cond_broadcast, 1));
    return errno == 4712 ? end(&c) : NO;
}

SENTENCE(destroy_without_waiters, 0, "Nobody waits: it can be destroyed, and made again.")
{
    PAIR(p);
    STEP(pthread_cond_signal(&p.cond));
    STEP(pthread_cond_destroy(&p.cond));
    STEP(make_cond(&KINDS[variant], &p.cond));
    STEP(pthread_cond_broadcast(&p.cond));
    return pthread_cond_destroy(&p.cond);
}

SENTENCE(destroy_right_after_broadcast, 0, "All waiters were woken: it can be destroyed, though they still return.")
{
    struct call c[3];
    PAIR(p);
    for (int i = 0; i < 3; i++)
        begin(&c[i], wait_for_flag, &p);
    until_inside(&p, 3);
    STEP(pthread_mutex_lock(&p.mutex));
    p.flag = 1;
    STEP(pthread_cond_broadcast(&p.cond));
    STEP(pthread_mutex_unlock(&p.mutex));
    STEP(pthread_cond_destroy(&p.cond));
    memset(&p.cond, 0xa5, sizeof p.cond);
    for (int i = 0; i < 3; i++)
        STEP(end(&c[i]));
    return 0;
}

SENTENCE(another_mutex_later, 0, "When nobody waits any more, the next wait may use another mutex.")
{
    LOCKED(p);
    if (wait_out(&p, in_ns(p.clock, MS)) != ETIMEDOUT)
        return NO;
    STEP(pthread_mutex_unlock(&p.mutex));
    pthread_mutex_destroy(&p.mutex);
    PAIR(other);
    p.mutex = other.mutex;
    STEP(pthread_mutex_lock(&p.mutex));
    if (wait_out(&p, in_ns(p.clock, MS)) != ETIMEDOUT)
        return NO;
    return pthread_mutex_unlock(&p.mutex);
}

static void cleanup(void *argument)
{
    struct pair *p = argument;
    p->gone++;
    MUST(pthread_mutex_unlock(&p->mutex) == 0);
}

enum { WAIT, TIMEDWAIT, CLOCKWAIT };
static int how;

static int wait_once(struct pair *p)
{
    struct timespec at = in_ns(how == CLOCKWAIT ? CLOCK_MONOTONIC : p->clock, 20LL * SECOND);
    if (how == CLOCKWAIT)
        return pthread_cond_clockwait(&p->cond, &p->mutex, CLOCK_MONOTONIC, &at);
    return how == WAIT ? pthread_cond_wait(&p->cond, &p->mutex) : pthread_cond_timedwait(&p->cond, &p->mutex, &at);
}

static int wait_for_ever(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    pthread_cleanup_push(cleanup, p);
    while (p->inside)
        MUST(wait_once(p) == 0);
    pthread_cleanup_pop(1);
    return 0;
}

SENTENCE(waits_are_cancellation_points, YES, "A cancelled waiter runs its handlers with the mutex, and ends.")
{
    for (how = WAIT; how <= CLOCKWAIT; how++) {
        struct call c;
        PAIR(p);
        begin(&c, wait_for_ever, &p);
        until_inside(&p, 1);
        sleep_ns(MS);
        MUST(pthread_cancel(c.thread) == 0);
        end(&c);
        if (is_done(&c) || p.gone != 1 || try_lock(&p.mutex) != 0)
            return NO;
        STEP(pthread_cond_destroy(&p.cond));
    }
    return YES;
}

static int cancelled_before(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    pthread_cleanup_push(cleanup, p);
    MUST(pthread_cancel(pthread_self()) == 0);
    wait_once(p);
    pthread_cleanup_pop(1);
    return 0;
}

SENTENCE(pending_cancellation_acts_in_the_wait, YES, "A cancellation that came before the wait acts in it.")
{
    for (how = WAIT; how <= CLOCKWAIT; how++) {
        struct call c;
        PAIR(p);
        begin(&c, cancelled_before, &p);
        end(&c);
        if (is_done(&c) || p.gone != 1 || try_lock(&p.mutex) != 0)
            return NO;
    }
    return YES;
}

SENTENCE(cancelled_waiters_swallow_no_signal, 5, "A signal reaches another waiter then.")
{
    int served = 0;
    for (int round = 0; round < 5; round++) {
        struct call victim, survivor;
        PAIR(p);
        begin(&victim, wait_for_ever, &p);
        until_inside(&p, 1);
        begin(&survivor, wait_for_token, &p);
        until_inside(&p, 2);
        MUST(pthread_cancel(victim.thread) == 0);
        STEP(raise_flag(&p, pthread_cond_signal, 1));
        end(&victim);
        STEP(pthread_cond_signal(&p.cond));
        served += end(&survivor) == 0;
    }
    return served;
}

static int ping(struct pair *p, int me)
{
    for (int i = 0; i < 30; i++) {
        STEP(pthread_mutex_lock(&p->mutex));
        while (p->flag != me)
            STEP(pthread_cond_wait(&p->cond, &p->mutex));
        p->flag = !me;
        STEP(pthread_cond_signal(&p->cond));
        STEP(pthread_mutex_unlock(&p->mutex));
    }
    return 0;
}

static int ping_first(void *p)
{
    return ping(p, 0);
}

SENTENCE(no_wake_up_is_lost, 0, "Two threads hand the turn to each other many times.")
{
    struct call c;
    PAIR(p);
    begin(&c, ping_first, &p);
    STEP(ping(&p, 1));
    return end(&c);
}

SENTENCE(attributes_are_read_back, ONCE(YES), "Clock and sharing; by default wall clock and private.")
{
    pthread_condattr_t a;
    clockid_t clock, new_clock;
    int shared, new_shared;
    STEP(pthread_condattr_init(&a));
    STEP(pthread_condattr_getclock(&a, &clock));
    STEP(pthread_condattr_getpshared(&a, &shared));
    STEP(pthread_condattr_setclock(&a, CLOCK_MONOTONIC));
    STEP(pthread_condattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    STEP(pthread_condattr_getclock(&a, &new_clock));
    STEP(pthread_condattr_getpshared(&a, &new_shared));
    STEP(pthread_condattr_destroy(&a));
    return yes_if(clock == CLOCK_REALTIME && shared == PTHREAD_PROCESS_PRIVATE && new_clock == CLOCK_MONOTONIC
                  && new_shared == PTHREAD_PROCESS_SHARED);
}

SENTENCE(attributes_refuse_a_cpu_clock, ONCE(EINVAL), "Waits are not measured in CPU time.")
{
    pthread_condattr_t a;
    STEP(pthread_condattr_init(&a));
    return pthread_condattr_setclock(&a, CLOCK_PROCESS_CPUTIME_ID);
}

SENTENCE(attributes_refuse_other_sharing, ONCE(EINVAL), "Neither private nor shared.")
{
    pthread_condattr_t a;
    STEP(pthread_condattr_init(&a));
    return pthread_condattr_setpshared(&a, 4711);
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
