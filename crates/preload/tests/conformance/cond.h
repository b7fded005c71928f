/* Condition variables of every kind, each with a mutex, and waits on them. */
#include "conformance.h"

enum { BY_INIT = 1, BY_NULL = 2 };

static const struct kind {
    const char *name;
    int by;
    clockid_t clock;
    int shared, mutex_type, mutex_shared, protocol, robust;
} KINDS[] = {
    {.name = "static"},
    {.name = "default", .by = BY_NULL},
    {.name = "wall clock", .by = BY_INIT, .clock = CLOCK_REALTIME},
    {.name = "monotonic clock", .by = BY_INIT, .clock = CLOCK_MONOTONIC},
    {.name = "with recursive", .by = BY_NULL, .mutex_type = PTHREAD_MUTEX_RECURSIVE},
    {.name = "with errorcheck", .by = BY_NULL, .mutex_type = PTHREAD_MUTEX_ERRORCHECK},
    {.name = "with adaptive", .by = BY_NULL, .mutex_type = PTHREAD_MUTEX_ADAPTIVE_NP},
    {.name = "with inherit", .by = BY_NULL, .protocol = PTHREAD_PRIO_INHERIT},
#ifdef WITH_ROBUST /* each thread has a list of those it owns: they may not be left locked on a stack */
    {.name = "with robust", .by = BY_NULL, .robust = PTHREAD_MUTEX_ROBUST},
#endif
    {.name = "with recursive inherit",
     .by = BY_NULL,
     .mutex_type = PTHREAD_MUTEX_RECURSIVE,
     .protocol = PTHREAD_PRIO_INHERIT},
    {.name = "private with shared", .by = BY_NULL, .mutex_shared = 1},
    {.name = "shared with shared", .by = BY_INIT, .shared = 1, .mutex_shared = 1},
    {.name = "shared monotonic", .by = BY_INIT, .clock = CLOCK_MONOTONIC, .shared = 1, .mutex_shared = 1},
    {.name = "shared with private", .by = BY_INIT, .shared = 1},
    {.name = "shared with recursive", .by = BY_INIT, .shared = 1, .mutex_type = PTHREAD_MUTEX_RECURSIVE},
    {.name = "shared monotonic with errorcheck",
     .by = BY_INIT,
     .clock = CLOCK_MONOTONIC,
     .shared = 1,
     .mutex_type = PTHREAD_MUTEX_ERRORCHECK},
};
enum { COUNT = sizeof KINDS / sizeof *KINDS };

struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    clockid_t clock;
    int flag, inside, woken, gone;
};

static inline int make_cond(const struct kind *k, pthread_cond_t *c)
{
    static const pthread_cond_t fresh = PTHREAD_COND_INITIALIZER;
    pthread_condattr_t attributes;
    memset(c, 0xa5, sizeof *c);
    if (k->by == BY_NULL)
        return pthread_cond_init(c, NULL);
    if (k->by != BY_INIT) {
        *c = fresh;
        return 0;
    }
    STEP(pthread_condattr_init(&attributes));
    STEP(pthread_condattr_setclock(&attributes, k->clock));
    STEP(pthread_condattr_setpshared(&attributes, k->shared));
    STEP(pthread_cond_init(c, &attributes));
    return pthread_condattr_destroy(&attributes);
}

static inline int make(int variant, struct pair *p)
{
    const struct kind *k = &KINDS[variant];
    pthread_mutexattr_t attributes;
    p->clock = k->clock;
    p->flag = p->inside = p->woken = p->gone = 0;
    STEP(pthread_mutexattr_init(&attributes));
    STEP(pthread_mutexattr_settype(&attributes, k->mutex_type));
    STEP(pthread_mutexattr_setpshared(&attributes, k->mutex_shared));
    STEP(pthread_mutexattr_setprotocol(&attributes, k->protocol));
    STEP(pthread_mutexattr_setrobust(&attributes, k->robust));
    STEP(pthread_mutex_init(&p->mutex, &attributes));
    return make_cond(k, &p->cond);
}

#define PAIR(p)                                                                                                        \
    struct pair p;                                                                                                     \
    STEP(make(variant, &p))
#define LOCKED(p)                                                                                                      \
    PAIR(p);                                                                                                           \
    STEP(pthread_mutex_lock(&p.mutex))

static inline int try_lock(void *m)
{
    return pthread_mutex_trylock(m);
}

/* Waits until the flag is up, and counts who is inside and who came out. */
static inline int wait_for_flag(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    while (!p->flag)
        STEP(pthread_cond_wait(&p->cond, &p->mutex));
    p->woken++;
    return pthread_mutex_unlock(&p->mutex);
}

/* The same, each flag for one. */
static inline int wait_for_token(void *argument)
{
    struct pair *p = argument;
    STEP(pthread_mutex_lock(&p->mutex));
    p->inside++;
    while (p->flag == 0)
        STEP(pthread_cond_wait(&p->cond, &p->mutex));
    p->flag--;
    p->woken++;
    return pthread_mutex_unlock(&p->mutex);
}

/* Waits until so many are inside; the mutex is free then, since they wait. */
static inline void until_inside(struct pair *p, int count)
{
    for (int found = 0; found != count;) {
        MUST(pthread_mutex_lock(&p->mutex) == 0);
        found = p->inside;
        MUST(pthread_mutex_unlock(&p->mutex) == 0);
        if (found != count)
            sleep_ns(MS / 4);
    }
}

static inline int raise_flag(struct pair *p, int (*call)(pthread_cond_t *), int value)
{
    STEP(pthread_mutex_lock(&p->mutex));
    p->flag = value;
    STEP(call(&p->cond));
    return pthread_mutex_unlock(&p->mutex);
}

/* A timed wait that nobody ends, and returns by itself only when the time has come. */
static inline int wait_out(struct pair *p, struct timespec at)
{
    int answer;
    while ((answer = pthread_cond_timedwait(&p->cond, &p->mutex, &at)) == 0) {
    }
    return answer;
}
