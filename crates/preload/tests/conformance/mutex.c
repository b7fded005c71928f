/* pthread_mutex_*: what each call answers, for every kind of mutex. */
#include "mutex.h"

/* A mutex that this thread has, and a free one. They are never freed: some are still locked in the end, and the C
   library keeps a list of the robust ones. */
#define FREE(m)                                                                                                        \
    pthread_mutex_t *m = malloc(sizeof *m);                                                                            \
    STEP(make(variant, m))
#define TAKEN(m)                                                                                                       \
    FREE(m);                                                                                                           \
    STEP(pthread_mutex_lock(m))

SENTENCE(lock_takes_a_free_mutex, 0, "A lock call on an unlocked mutex succeeds, and the caller owns it.")
{
    FREE(m);
    STEP(lock(m));
    return unlock(m);
}

SENTENCE(unlocked_is_free_for_others, 0, "After unlock any thread may lock it.")
{
    TAKEN(m);
    STEP(unlock(m));
    return elsewhere(lock_unlock, m);
}

SENTENCE(trylock_takes_a_free_mutex, 0, "A try on an unlocked mutex succeeds.")
{
    FREE(m);
    return elsewhere(try_unlock, m);
}

SENTENCE(trylock_of_a_taken_mutex, EBUSY, "A try on a mutex that another thread has says EBUSY at once.")
{
    TAKEN(m);
    return elsewhere(try_lock, m);
}

/* The C library answers EDEADLK for an error-checking robust one. */
SENTENCE(trylock_of_ones_own, BY_TYPE(EBUSY, 0, KINDS[variant].robust ? OPEN : EBUSY), "EBUSY, or deeper if recursive.")
{
    TAKEN(m);
    return try_lock(m);
}

SENTENCE(lock_of_ones_own, BY_TYPE(SKIP, 0, EDEADLK), "The owner locks again: deeper if recursive, else EDEADLK.")
{
    TAKEN(m);
    return lock(m);
}

SENTENCE(timedlock_of_ones_own, BY_TYPE(ETIMEDOUT, 0, EDEADLK), "A normal mutex deadlocks its owner until the time.")
{
    TAKEN(m);
    return soon_wall(m);
}

SENTENCE(clocklock_of_ones_own, BY_TYPE(ETIMEDOUT, 0, EDEADLK), "The same on the clock of the caller's choice.")
{
    TAKEN(m);
    return soon_monotonic(m);
}

SENTENCE(relock_fails_without_harm, BY_TYPE(SKIP, SKIP, 0), "After EDEADLK the caller has the mutex once, as before.")
{
    TAKEN(m);
    if (lock(m) != EDEADLK)
        return NO;
    STEP(unlock(m));
    return elsewhere(lock_unlock, m);
}

SENTENCE(lock_waits_for_unlock, YES, "A lock call on a taken mutex waits until the owner unlocks.")
{
    struct call c;
    TAKEN(m);
    int waited = waits(&c, lock_unlock, m);
    STEP(unlock(m));
    STEP(end(&c));
    return yes_if(waited);
}

SENTENCE(unlock_serves_every_waiter, 0, "However many wait, each gets the mutex in the end.")
{
    struct call c[4];
    TAKEN(m);
    for (int i = 0; i < 4; i++)
        begin(&c[i], i % 2 ? lock_unlock : patient, m);
    sleep_ns(SOON);
    STEP(unlock(m));
    for (int i = 0; i < 4; i++)
        STEP(end(&c[i]));
    return 0;
}

SENTENCE(unlock_by_another, IF_OWNED(EPERM), "Who does not own a mutex that knows its owner may not unlock it.")
{
    TAKEN(m);
    return elsewhere(unlock, m);
}

SENTENCE(unlock_by_another_does_nothing, IF_OWNED(EBUSY), "A refused unlock leaves the mutex with its owner.")
{
    TAKEN(m);
    if (elsewhere(unlock, m) != EPERM)
        return NO;
    return elsewhere(try_lock, m);
}

SENTENCE(unlock_of_a_free_mutex, IF_OWNED(EPERM), "Nobody has it: a mutex that knows its owner refuses.")
{
    FREE(m);
    return unlock(m);
}

SENTENCE(unlock_twice, IF_OWNED(EPERM), "The second unlock finds that the caller does not own it.")
{
    TAKEN(m);
    STEP(unlock(m));
    return unlock(m);
}

SENTENCE(recursion_is_counted, BY_TYPE(SKIP, YES, SKIP), "As many unlocks as locks; before the last it is taken.")
{
    enum { DEPTH = 5 };
    FREE(m);
    for (int i = 0; i < DEPTH; i++)
        STEP(i % 2 ? try_lock(m) : lock(m));
    for (int i = 1; i < DEPTH; i++) {
        STEP(unlock(m));
        if (elsewhere(try_lock, m) != EBUSY)
            return NO;
    }
    STEP(unlock(m));
    return yes_if(elsewhere(try_unlock, m) == 0);
}

SENTENCE(timedlock_of_a_free_mutex, 0, "A free mutex is taken at once, whatever the time.")
{
    FREE(m);
    STEP(soon_wall(m));
    return unlock(m);
}

SENTENCE(timedlock_in_the_past, 0, "A free mutex is taken even if the time has passed.")
{
    FREE(m);
    STEP(in_the_past(m));
    return unlock(m);
}

SENTENCE(timedlock_checks_time_late, 0, "The time need not be valid if the mutex can be taken at once.")
{
    FREE(m);
    STEP(too_many_ns(m));
    return unlock(m);
}

SENTENCE(timedlock_gives_up, ETIMEDOUT, "A taken mutex: the call ends when the time comes.")
{
    TAKEN(m);
    return elsewhere(soon_wall, m);
}

SENTENCE(clocklock_gives_up, ETIMEDOUT, "The same on the monotonic clock.")
{
    TAKEN(m);
    return elsewhere(soon_monotonic, m);
}

SENTENCE(timedlock_gives_up_at_once, ETIMEDOUT, "A taken mutex and a time that has passed.")
{
    TAKEN(m);
    return elsewhere(in_the_past, m);
}

/* The kernel times waits for priority-inheriting mutexes, and refuses negative times. */
SENTENCE(timedlock_before_the_epoch, KINDS[variant].protocol ? OPEN : ETIMEDOUT, "Such a time has passed.")
{
    TAKEN(m);
    return elsewhere(before_the_epoch, m);
}

SENTENCE(timedlock_is_not_early, YES, "It does not give up before the time.")
{
    TAKEN(m);
    long long begun = now_ns();
    if (elsewhere(soon_monotonic, m) != ETIMEDOUT)
        return NO;
    return yes_if(now_ns() - begun >= SOON);
}

SENTENCE(timedlock_with_a_whole_second, EINVAL, "Nanoseconds of a second and more, when it must wait.")
{
    TAKEN(m);
    return elsewhere(too_many_ns, m);
}

SENTENCE(timedlock_with_negative_ns, EINVAL, "Negative nanoseconds, when it must wait.")
{
    TAKEN(m);
    return elsewhere(negative_ns, m);
}

SENTENCE(clocklock_on_no_such_clock, EINVAL, "Only the wall clock and the monotonic clock measure waits.")
{
    TAKEN(m);
    return elsewhere(on_cpu_clock, m);
}

SENTENCE(timedlock_gets_it, 0, "A timed wait ends with the mutex when it comes free in time.")
{
    struct call c;
    TAKEN(m);
    begin(&c, patient, m);
    sleep_ns(SOON);
    STEP(unlock(m));
    return end(&c);
}

SENTENCE(giving_up_leaves_no_trace, 0, "After others gave up waiting the mutex works as before.")
{
    TAKEN(m);
    for (int i = 0; i < 3; i++)
        if (elsewhere(soon_monotonic, m) != ETIMEDOUT)
            return NO;
    STEP(unlock(m));
    STEP(elsewhere(lock_unlock, m));
    return pthread_mutex_destroy(m);
}

SENTENCE(destroy_of_a_free_mutex, 0, "An unlocked mutex can be destroyed.")
{
    FREE(m);
    STEP(lock_unlock(m));
    return pthread_mutex_destroy(m);
}

SENTENCE(destroy_of_a_taken_mutex, OPEN, "Undefined; the C library says EBUSY where it knows.")
{
    TAKEN(m);
    return pthread_mutex_destroy(m);
}

SENTENCE(destroyed_by_the_last_owner, 0, "A mutex may be destroyed right after it was unlocked.")
{
    TAKEN(m);
    struct call c;
    begin(&c, lock_unlock, m);
    STEP(unlock(m));
    STEP(end(&c));
    return pthread_mutex_destroy(m);
}

SENTENCE(destroyed_can_be_made_again, 0, "A destroyed mutex can be initialised again.")
{
    FREE(m);
    STEP(pthread_mutex_destroy(m));
    STEP(make(variant, m));
    return elsewhere(lock_unlock, m);
}

SENTENCE(lock_of_a_destroyed_mutex, OPEN, "Undefined.")
{
    FREE(m);
    STEP(pthread_mutex_destroy(m));
    return try_lock(m);
}

struct counted {
    pthread_mutex_t mutex;
    long count;
    int how;
};

static int count_up(void *argument)
{
    struct counted *c = argument;
    for (int i = 0; i < 1000; i++) {
        STEP(i % 16 ? pthread_mutex_lock(&c->mutex) : timed_after(&c->mutex, CLOCK_MONOTONIC, 30LL * SECOND));
        c->count++;
        STEP(pthread_mutex_unlock(&c->mutex));
    }
    return 0;
}

SENTENCE(one_owner_at_a_time, YES, "What an owner wrote the next one sees, and no two own it at once.")
{
    struct counted counted = {.count = 0};
    struct call c[3];
    STEP(make(variant, &counted.mutex));
    for (int i = 0; i < 3; i++)
        begin(&c[i], count_up, &counted);
    for (int i = 0; i < 3; i++)
        STEP(end(&c[i]));
    return yes_if(counted.count == 3000);
}

static int keeps_errno(void *m)
{
    errno = 4711;
    STEP(lock(m));
    STEP(unlock(m));
    return yes_if(errno == 4711);
}

SENTENCE(errno_is_left_alone, YES, "Errors are returned; errno is nobody's business here.")
{
    struct call c;
    TAKEN(m);
    int waited = waits(&c, keeps_errno, m);
    errno = 4712;
    STEP(unlock(m));
    return yes_if(waited && errno == 4712 && end(&c) == YES);
}

static int handled;
static void count_signal(int signal)
{
    (void)signal;
    handled++;
}

SENTENCE(signals_do_not_end_a_wait, YES, "A handler runs in a waiter, which then goes on waiting; no EINTR.")
{
    struct call c;
    TAKEN(m);
    struct sigaction action = {.sa_handler = count_signal};
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    handled = 0;
    int waited = waits(&c, lock_unlock, m);
    for (int i = 0; i < 3; i++) {
        MUST(pthread_kill(c.thread, SIGUSR1) == 0);
        sleep_ns(MS);
    }
    waited &= !is_done(&c);
    STEP(unlock(m));
    STEP(end(&c));
    return yes_if(waited && handled > 0);
}

SENTENCE(lock_is_no_cancellation_point, YES, "A thread that is cancelled while it waits for a mutex gets it first.")
{
    struct call c;
    TAKEN(m);
    int waited = waits(&c, lock_unlock, m);
    MUST(pthread_cancel(c.thread) == 0);
    sleep_ns(SOON);
    waited &= !is_done(&c);
    STEP(unlock(m));
    STEP(end(&c));
    return yes_if(waited && is_done(&c));
}

SENTENCE(no_ceiling, EINVAL, "Only a mutex of the protocol of priority ceilings has one.")
{
    int ceiling = 0;
    FREE(m);
    return pthread_mutex_getprioceiling(m, &ceiling);
}

SENTENCE(no_ceiling_to_set, EINVAL, "Nor can it be given one.")
{
    int old;
    FREE(m);
    return pthread_mutex_setprioceiling(m, 1, &old);
}

SENTENCE(nothing_to_make_consistent, EINVAL, "Only a robust mutex whose owner died can be made consistent.")
{
    FREE(m);
    return pthread_mutex_consistent(m);
}

int main(void)
{
    const char *names[COUNT];
    for (int i = 0; i < COUNT; i++)
        names[i] = KINDS[i].name;
    return ask_all(names, COUNT) != 0;
}
