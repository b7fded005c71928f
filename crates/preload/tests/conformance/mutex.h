/* Mutexes of every kind, by every way to make one. */
#include "conformance.h"

enum type { PLAIN, RECURSIVE, ERRORCHECK };

/* `owned`: the C library's, which knows the owner of a plain one, too. */
static const struct kind {
    const char *name;
    enum type type;
    int owned, by_attributes, attribute_type, robust, protocol, shared;
    pthread_mutex_t initial;
} KINDS[] = {
    {.name = "static", .initial = PTHREAD_MUTEX_INITIALIZER},
    {.name = "static recursive", .type = RECURSIVE, .initial = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP},
    {.name = "static errorcheck", .type = ERRORCHECK, .initial = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP},
    {.name = "static adaptive", .initial = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP},
    {.name = "default", .by_attributes = 1, .attribute_type = PTHREAD_MUTEX_DEFAULT},
    {.name = "normal", .by_attributes = 1, .attribute_type = PTHREAD_MUTEX_NORMAL},
    {.name = "recursive", .type = RECURSIVE, .by_attributes = 1, .attribute_type = PTHREAD_MUTEX_RECURSIVE},
    {.name = "errorcheck", .type = ERRORCHECK, .by_attributes = 1, .attribute_type = PTHREAD_MUTEX_ERRORCHECK},
    {.name = "adaptive", .by_attributes = 1, .attribute_type = PTHREAD_MUTEX_ADAPTIVE_NP},
    {.name = "shared", .by_attributes = 1, .shared = PTHREAD_PROCESS_SHARED},
    {.name = "shared recursive", .type = RECURSIVE, .by_attributes = 1, .attribute_type = PTHREAD_MUTEX_RECURSIVE,
     .shared = PTHREAD_PROCESS_SHARED},
    {.name = "robust", .owned = 1, .by_attributes = 1, .robust = PTHREAD_MUTEX_ROBUST},
    {.name = "robust errorcheck", .type = ERRORCHECK, .owned = 1, .by_attributes = 1,
     .attribute_type = PTHREAD_MUTEX_ERRORCHECK, .robust = PTHREAD_MUTEX_ROBUST},
    {.name = "inherit", .owned = 1, .by_attributes = 1, .protocol = PTHREAD_PRIO_INHERIT},
    {.name = "inherit recursive", .type = RECURSIVE, .owned = 1, .by_attributes = 1,
     .attribute_type = PTHREAD_MUTEX_RECURSIVE, .protocol = PTHREAD_PRIO_INHERIT},
};
enum { COUNT = sizeof KINDS / sizeof *KINDS };

static inline int make(int variant, pthread_mutex_t *m)
{
    const struct kind *k = &KINDS[variant];
    pthread_mutexattr_t attributes;
    if (!k->by_attributes) {
        *m = k->initial;
        return 0;
    }
    memset(m, 0xa5, sizeof *m);
    STEP(pthread_mutexattr_init(&attributes));
    STEP(pthread_mutexattr_settype(&attributes, k->attribute_type));
    STEP(pthread_mutexattr_setrobust(&attributes, k->robust));
    STEP(pthread_mutexattr_setprotocol(&attributes, k->protocol));
    STEP(pthread_mutexattr_setpshared(&attributes, k->shared));
    STEP(pthread_mutex_init(m, &attributes));
    return pthread_mutexattr_destroy(&attributes);
}

/* The answer by type of mutex. */
static inline int by_type(int variant, int plain, int recursive, int errorcheck)
{
    const int answers[] = {plain, recursive, errorcheck};
    return answers[KINDS[variant].type];
}
#define BY_TYPE(plain, recursive, errorcheck) by_type(variant, plain, recursive, errorcheck)

/* What only mutexes that know their owner answer; for the others the standard has nothing. */
#define IF_OWNED(answer) (KINDS[variant].type != PLAIN || KINDS[variant].owned ? (answer) : SKIP)

static inline int lock(void *m)
{
    return pthread_mutex_lock(m);
}

static inline int unlock(void *m)
{
    return pthread_mutex_unlock(m);
}

static inline int try_lock(void *m)
{
    return pthread_mutex_trylock(m);
}

static inline int lock_unlock(void *m)
{
    STEP(pthread_mutex_lock(m));
    return pthread_mutex_unlock(m);
}

static inline int try_unlock(void *m)
{
    STEP(pthread_mutex_trylock(m));
    return pthread_mutex_unlock(m);
}

static inline int timed_after(void *m, clockid_t clock, long long ns)
{
    struct timespec at = in_ns(clock, ns);
    return clock == CLOCK_REALTIME ? pthread_mutex_timedlock(m, &at) : pthread_mutex_clocklock(m, clock, &at);
}

static inline int soon_wall(void *m)
{
    return timed_after(m, CLOCK_REALTIME, SOON);
}

static inline int soon_monotonic(void *m)
{
    return timed_after(m, CLOCK_MONOTONIC, SOON);
}

static inline int in_the_past(void *m)
{
    return timed_after(m, CLOCK_REALTIME, -10LL * SECOND);
}

static inline int patient(void *m)
{
    STEP(timed_after(m, CLOCK_MONOTONIC, 30LL * SECOND));
    return pthread_mutex_unlock(m);
}

/* A timed lock with these nanoseconds. */
static inline int with_ns(void *m, long ns)
{
    struct timespec at = in_ns(CLOCK_REALTIME, SECOND);
    at.tv_nsec = ns;
    return pthread_mutex_timedlock(m, &at);
}

static inline int too_many_ns(void *m)
{
    return with_ns(m, SECOND);
}

static inline int negative_ns(void *m)
{
    return with_ns(m, -1);
}

static inline int before_the_epoch(void *m)
{
    struct timespec at = {.tv_sec = -5, .tv_nsec = 1};
    return pthread_mutex_timedlock(m, &at);
}

static inline int on_cpu_clock(void *m)
{
    struct timespec at = in_ns(CLOCK_MONOTONIC, SECOND);
    return pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &at);
}
