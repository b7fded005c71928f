/* Attributes as they are read back, and mutexes of the special kinds: robust, of a protocol, process-shared. */
#include "mutex.h"

#define ATTRIBUTES(a)                                                                                                  \
    pthread_mutexattr_t a;                                                                                             \
    STEP(pthread_mutexattr_init(&a))

/* Sets a value, and reads it back. */
#define ROUND_TRIP(name, set, get, value, says)                                                                        \
    SENTENCE(name, YES, says)                                                                                          \
    {                                                                                                                  \
        int found = -1;                                                                                                \
        ATTRIBUTES(a);                                                                                                 \
        STEP(set(&a, value));                                                                                          \
        STEP(get(&a, &found));                                                                                         \
        STEP(pthread_mutexattr_destroy(&a));                                                                           \
        return yes_if(found == (value));                                                                               \
    }

/* What fresh attributes say. */
#define DEFAULT_IS(name, get, value, says)                                                                             \
    SENTENCE(name, YES, says)                                                                                          \
    {                                                                                                                  \
        int found = -1;                                                                                                \
        ATTRIBUTES(a);                                                                                                 \
        STEP(get(&a, &found));                                                                                         \
        return yes_if(found == (value));                                                                               \
    }

/* A value that is none. */
#define REFUSED(name, set, value, says)                                                                                \
    SENTENCE(name, EINVAL, says)                                                                                       \
    {                                                                                                                  \
        ATTRIBUTES(a);                                                                                                 \
        return set(&a, value);                                                                                         \
    }

DEFAULT_IS(default_type, pthread_mutexattr_gettype, PTHREAD_MUTEX_DEFAULT, "The default type.")
DEFAULT_IS(default_sharing, pthread_mutexattr_getpshared, PTHREAD_PROCESS_PRIVATE, "Private by default.")
DEFAULT_IS(default_robustness, pthread_mutexattr_getrobust, PTHREAD_MUTEX_STALLED, "Stalled by default.")
DEFAULT_IS(default_protocol, pthread_mutexattr_getprotocol, PTHREAD_PRIO_NONE, "No protocol by default.")
ROUND_TRIP(type_normal, pthread_mutexattr_settype, pthread_mutexattr_gettype, PTHREAD_MUTEX_NORMAL, "Read back.")
ROUND_TRIP(type_recursive, pthread_mutexattr_settype, pthread_mutexattr_gettype, PTHREAD_MUTEX_RECURSIVE, "Read back.")
ROUND_TRIP(type_errorcheck, pthread_mutexattr_settype, pthread_mutexattr_gettype, PTHREAD_MUTEX_ERRORCHECK, "Same.")
ROUND_TRIP(type_adaptive, pthread_mutexattr_settype, pthread_mutexattr_gettype, PTHREAD_MUTEX_ADAPTIVE_NP,
           "Read back.")
ROUND_TRIP(sharing, pthread_mutexattr_setpshared, pthread_mutexattr_getpshared, PTHREAD_PROCESS_SHARED, "Read back.")
ROUND_TRIP(robustness, pthread_mutexattr_setrobust, pthread_mutexattr_getrobust, PTHREAD_MUTEX_ROBUST, "Read back.")
ROUND_TRIP(protocol_inherit, pthread_mutexattr_setprotocol, pthread_mutexattr_getprotocol, PTHREAD_PRIO_INHERIT,
           "Read back.")
ROUND_TRIP(protocol_protect, pthread_mutexattr_setprotocol, pthread_mutexattr_getprotocol, PTHREAD_PRIO_PROTECT,
           "Read back.")
ROUND_TRIP(ceiling, pthread_mutexattr_setprioceiling, pthread_mutexattr_getprioceiling, 7, "The ceiling is read back.")
REFUSED(no_such_type, pthread_mutexattr_settype, 4711, "A type that does not exist.")
REFUSED(no_such_sharing, pthread_mutexattr_setpshared, 4711, "Neither private nor shared.")
REFUSED(no_such_robustness, pthread_mutexattr_setrobust, 4711, "Neither stalled nor robust.")
REFUSED(no_such_protocol, pthread_mutexattr_setprotocol, 4711, "No protocol.")
REFUSED(ceiling_too_high, pthread_mutexattr_setprioceiling, 4711, "Higher than any priority.")

SENTENCE(attributes_do_not_mix, YES, "Each attribute is kept by itself.")
{
    int type, shared, robust, protocol;
    ATTRIBUTES(a);
    STEP(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED));
    STEP(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
    STEP(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
    STEP(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
    STEP(pthread_mutexattr_gettype(&a, &type));
    STEP(pthread_mutexattr_getpshared(&a, &shared));
    STEP(pthread_mutexattr_getrobust(&a, &robust));
    STEP(pthread_mutexattr_getprotocol(&a, &protocol));
    return yes_if(type == PTHREAD_MUTEX_ERRORCHECK && shared == PTHREAD_PROCESS_SHARED
                  && robust == PTHREAD_MUTEX_ROBUST && protocol == PTHREAD_PRIO_INHERIT);
}

SENTENCE(attributes_count_at_init_only, 0, "Later changes of the attributes do not reach the mutexes made before.")
{
    pthread_mutex_t m;
    ATTRIBUTES(a);
    STEP(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_RECURSIVE));
    STEP(pthread_mutex_init(&m, &a));
    STEP(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
    STEP(pthread_mutexattr_destroy(&a));
    STEP(lock(&m));
    STEP(lock(&m));
    STEP(unlock(&m));
    return unlock(&m);
}

SENTENCE(attributes_serve_many, 0, "One attributes object makes any number of mutexes.")
{
    pthread_mutex_t m[8];
    ATTRIBUTES(a);
    STEP(pthread_mutexattr_settype(&a, PTHREAD_MUTEX_ERRORCHECK));
    for (int i = 0; i < 8; i++)
        STEP(pthread_mutex_init(&m[i], &a));
    for (int i = 0; i < 8; i++)
        STEP(lock(&m[i]));
    for (int i = 0; i < 8; i++)
        if (lock(&m[i]) != EDEADLK || unlock(&m[i]) != 0)
            return NO;
    return 0;
}

static pthread_mutex_t *special(int type, int robust, int protocol, int shared)
{
    pthread_mutexattr_t a;
    pthread_mutex_t *m = shared_page();
    MUST(pthread_mutexattr_init(&a) == 0);
    MUST(pthread_mutexattr_settype(&a, type) == 0);
    MUST(pthread_mutexattr_setrobust(&a, robust) == 0);
    MUST(pthread_mutexattr_setprotocol(&a, protocol) == 0);
    MUST(pthread_mutexattr_setpshared(&a, shared) == 0);
    MUST(pthread_mutex_init(m, &a) == 0);
    return m;
}

static pthread_mutex_t *robust_mutex(void)
{
    return special(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
}

static pthread_mutex_t *orphan(void)
{
    pthread_mutex_t *m = robust_mutex();
    MUST(elsewhere(lock, m) == 0);
    return m;
}

SENTENCE(robust_lock_of_an_orphan, EOWNERDEAD, "The owner's thread ended: the next one gets the mutex, and is told.")
{
    return lock(orphan());
}

SENTENCE(robust_trylock_of_an_orphan, EOWNERDEAD, "A try is told, too.")
{
    return try_lock(orphan());
}

SENTENCE(robust_timedlock_of_an_orphan, EOWNERDEAD, "So is a timed lock.")
{
    return soon_wall(orphan());
}

SENTENCE(robust_clocklock_of_an_orphan, EOWNERDEAD, "On either clock.")
{
    return soon_monotonic(orphan());
}

SENTENCE(robust_orphan_is_owned, EBUSY, "Who is told has the mutex.")
{
    pthread_mutex_t *m = orphan();
    MUST(lock(m) == EOWNERDEAD);
    return elsewhere(try_lock, m);
}

SENTENCE(robust_made_consistent, 0, "Made consistent and unlocked, it is as good as new.")
{
    pthread_mutex_t *m = orphan();
    MUST(lock(m) == EOWNERDEAD);
    STEP(pthread_mutex_consistent(m));
    STEP(unlock(m));
    return elsewhere(lock_unlock, m);
}

SENTENCE(robust_not_made_consistent, ENOTRECOVERABLE, "Unlocked without that, nobody gets it any more.")
{
    pthread_mutex_t *m = orphan();
    MUST(lock(m) == EOWNERDEAD);
    STEP(unlock(m));
    return elsewhere(lock, m);
}

SENTENCE(robust_try_of_the_unrecoverable, ENOTRECOVERABLE, "Nor by a try.")
{
    pthread_mutex_t *m = orphan();
    MUST(lock(m) == EOWNERDEAD);
    STEP(unlock(m));
    return try_lock(m);
}

SENTENCE(robust_destroy_of_the_unrecoverable, 0, "It can still be destroyed.")
{
    pthread_mutex_t *m = orphan();
    MUST(lock(m) == EOWNERDEAD);
    STEP(unlock(m));
    return pthread_mutex_destroy(m);
}

SENTENCE(robust_consistent_without_need, EINVAL, "Nobody died: nothing to be made consistent.")
{
    pthread_mutex_t *m = robust_mutex();
    STEP(lock(m));
    return pthread_mutex_consistent(m);
}

static int lock_and_die_later(void *m)
{
    STEP(lock(m));
    sleep_ns(SOON);
    return 0;
}

SENTENCE(robust_waiter_is_told, EOWNERDEAD, "A thread that waits while the owner dies is told.")
{
    struct call owner;
    pthread_mutex_t *m = robust_mutex();
    begin(&owner, lock_and_die_later, m);
    int tried;
    while ((tried = try_lock(m)) == 0) {
        STEP(unlock(m));
        sched_yield();
    }
    if (tried != EBUSY)
        return tried; /* it died before we could wait */
    int answer = lock(m);
    STEP(end(&owner));
    return answer;
}

SENTENCE(robust_process_dies, EOWNERDEAD, "The owner's whole process may have died.")
{
    pthread_mutex_t *m = robust_mutex();
    STEP(in_child(lock, m));
    return lock(m);
}

struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int turn, rounds;
};

static int play(struct pair *p, int me)
{
    for (int i = 0; i < 200; i++) {
        STEP(pthread_mutex_lock(&p->mutex));
        while (p->turn != me)
            STEP(pthread_cond_wait(&p->cond, &p->mutex));
        p->turn = !me;
        p->rounds++;
        STEP(i % 2 ? pthread_cond_broadcast(&p->cond) : pthread_cond_signal(&p->cond));
        STEP(pthread_mutex_unlock(&p->mutex));
    }
    return 0;
}

static int play_first(void *pair)
{
    return play(pair, 0);
}

static struct pair *shared_pair(void)
{
    struct pair *p = shared_page();
    pthread_mutexattr_t m;
    pthread_condattr_t c;
    MUST(pthread_mutexattr_init(&m) == 0 && pthread_condattr_init(&c) == 0);
    MUST(pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED) == 0);
    MUST(pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED) == 0);
    MUST(pthread_mutex_init(&p->mutex, &m) == 0 && pthread_cond_init(&p->cond, &c) == 0);
    return p;
}

static int play_both(void *pair)
{
    struct call other;
    begin(&other, play_first, pair);
    STEP(play(pair, 1));
    return end(&other);
}

SENTENCE(shared_between_threads, 0, "A process-shared pair serves the threads of one process, too.")
{
    return play_both(shared_pair());
}

SENTENCE(shared_between_processes, YES, "Mutex and condition variable hand the turn between processes.")
{
    struct pair *p = shared_pair();
    fflush(stdout);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0) {
        alarm(LIMIT_S);
        _exit(play(p, 0));
    }
    STEP(play(p, 1));
    int status;
    MUST(waitpid(pid, &status, 0) == pid);
    return yes_if(status == 0 && p->rounds == 400);
}

SENTENCE(shared_is_seen_taken, EBUSY, "A mutex that this process has is taken for another.")
{
    struct pair *p = shared_pair();
    STEP(lock(&p->mutex));
    return in_child(try_lock, &p->mutex);
}

SENTENCE(protect_has_its_ceiling, YES, "The ceiling of a mutex is the attribute's.")
{
    pthread_mutex_t m;
    int ceiling = -1;
    ATTRIBUTES(a);
    STEP(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    STEP(pthread_mutexattr_setprioceiling(&a, 9));
    STEP(pthread_mutex_init(&m, &a));
    STEP(pthread_mutex_getprioceiling(&m, &ceiling));
    STEP(pthread_mutex_destroy(&m));
    return yes_if(ceiling == 9);
}

static int protects(void *unused)
{
    struct sched_param priority = {.sched_priority = 2};
    pthread_mutex_t m;
    int old = -1, now = -1;
    (void)unused;
    STEP(pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority));
    ATTRIBUTES(a);
    STEP(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_PROTECT));
    STEP(pthread_mutexattr_setprioceiling(&a, 9));
    STEP(pthread_mutex_init(&m, &a));
    STEP(pthread_mutex_lock(&m));
    STEP(pthread_mutex_unlock(&m));
    STEP(pthread_mutex_setprioceiling(&m, 1, &old));
    STEP(pthread_mutex_getprioceiling(&m, &now));
    return old == 9 && now == 1 ? pthread_mutex_trylock(&m) : NO;
}

SENTENCE(protect_above_the_ceiling, OPEN, "EINVAL to a thread above the ceiling; EPERM without the right to try.")
{
    return elsewhere(protects, NULL);
}

int main(void)
{
    static const char *const names[] = {"mutex"};
    return ask_all(names, 1) != 0;
}
