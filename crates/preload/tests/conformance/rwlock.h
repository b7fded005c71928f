/* Readers-writer locks of every kind, and calls on them as other threads make them. */
#include "conformance.h"

enum { WRITERS_FIRST = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };

static const struct kind {
    const char *name;
    int preference, shared, by_attributes, by_null;
    pthread_rwlock_t initial;
} KINDS[] = {
    {.name = "static", .initial = PTHREAD_RWLOCK_INITIALIZER},
    {.name = "static writers first", .preference = WRITERS_FIRST,
     .initial = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP},
    {.name = "default", .by_null = 1},
    {.name = "readers first", .by_attributes = 1, .preference = PTHREAD_RWLOCK_PREFER_READER_NP},
    {.name = "writers first in name", .by_attributes = 1, .preference = PTHREAD_RWLOCK_PREFER_WRITER_NP},
    {.name = "writers first", .by_attributes = 1, .preference = WRITERS_FIRST},
    {.name = "shared", .by_attributes = 1, .shared = PTHREAD_PROCESS_SHARED},
    {.name = "shared writers first", .by_attributes = 1, .preference = WRITERS_FIRST,
     .shared = PTHREAD_PROCESS_SHARED},
};
enum { COUNT = sizeof KINDS / sizeof *KINDS };

static inline int make(int variant, pthread_rwlock_t *l)
{
    const struct kind *k = &KINDS[variant];
    pthread_rwlockattr_t attributes;
    memset(l, 0xa5, sizeof *l);
    if (k->by_null)
        return pthread_rwlock_init(l, NULL);
    if (!k->by_attributes) {
        *l = k->initial;
        return 0;
    }
    STEP(pthread_rwlockattr_init(&attributes));
    STEP(pthread_rwlockattr_setkind_np(&attributes, k->preference));
    STEP(pthread_rwlockattr_setpshared(&attributes, k->shared));
    STEP(pthread_rwlock_init(l, &attributes));
    return pthread_rwlockattr_destroy(&attributes);
}

#define FREE(l)                                                                                                        \
    pthread_rwlock_t l;                                                                                                \
    STEP(make(variant, &l))
#define READING(l)                                                                                                     \
    FREE(l);                                                                                                           \
    STEP(pthread_rwlock_rdlock(&l))
#define WRITING(l)                                                                                                     \
    FREE(l);                                                                                                           \
    STEP(pthread_rwlock_wrlock(&l))

static inline int read_lock(void *l)
{
    return pthread_rwlock_rdlock(l);
}

static inline int write_lock(void *l)
{
    return pthread_rwlock_wrlock(l);
}

static inline int unlock(void *l)
{
    return pthread_rwlock_unlock(l);
}

static inline int try_read(void *l)
{
    return pthread_rwlock_tryrdlock(l);
}

static inline int try_write(void *l)
{
    return pthread_rwlock_trywrlock(l);
}

static inline int read_unlock(void *l)
{
    STEP(read_lock(l));
    return unlock(l);
}

static inline int write_unlock(void *l)
{
    STEP(write_lock(l));
    return unlock(l);
}

static inline int try_read_unlock(void *l)
{
    STEP(try_read(l));
    return unlock(l);
}

static inline int try_write_unlock(void *l)
{
    STEP(try_write(l));
    return unlock(l);
}

static inline int timed(void *l, int write, clockid_t clock, struct timespec at)
{
    if (clock == CLOCK_REALTIME)
        return write ? pthread_rwlock_timedwrlock(l, &at) : pthread_rwlock_timedrdlock(l, &at);
    return write ? pthread_rwlock_clockwrlock(l, clock, &at) : pthread_rwlock_clockrdlock(l, clock, &at);
}

static inline int read_soon(void *l)
{
    return timed(l, 0, CLOCK_REALTIME, in_ns(CLOCK_REALTIME, SOON));
}

static inline int write_soon(void *l)
{
    return timed(l, 1, CLOCK_REALTIME, in_ns(CLOCK_REALTIME, SOON));
}

static inline int read_soon_monotonic(void *l)
{
    return timed(l, 0, CLOCK_MONOTONIC, in_ns(CLOCK_MONOTONIC, SOON));
}

static inline int write_soon_monotonic(void *l)
{
    return timed(l, 1, CLOCK_MONOTONIC, in_ns(CLOCK_MONOTONIC, SOON));
}

static inline int read_in_the_past(void *l)
{
    return timed(l, 0, CLOCK_REALTIME, in_ns(CLOCK_REALTIME, -5LL * SECOND));
}

static inline int write_in_the_past(void *l)
{
    return timed(l, 1, CLOCK_MONOTONIC, in_ns(CLOCK_MONOTONIC, -5LL * SECOND));
}

static inline int read_before_the_epoch(void *l)
{
    return timed(l, 0, CLOCK_REALTIME, (struct timespec){.tv_sec = -5});
}

static inline int patient_read(void *l)
{
    STEP(timed(l, 0, CLOCK_MONOTONIC, in_ns(CLOCK_MONOTONIC, 30LL * SECOND)));
    return unlock(l);
}

static inline int patient_write(void *l)
{
    STEP(timed(l, 1, CLOCK_REALTIME, in_ns(CLOCK_REALTIME, 30LL * SECOND)));
    return unlock(l);
}

static inline struct timespec bad(long ns)
{
    struct timespec at = in_ns(CLOCK_REALTIME, SECOND);
    at.tv_nsec = ns;
    return at;
}

static inline int read_bad_time(void *l)
{
    return timed(l, 0, CLOCK_REALTIME, bad(SECOND));
}

static inline int write_bad_time(void *l)
{
    return timed(l, 1, CLOCK_REALTIME, bad(-1));
}

static inline int read_bad_clock(void *l)
{
    return timed(l, 0, CLOCK_PROCESS_CPUTIME_ID, in_ns(CLOCK_MONOTONIC, SECOND));
}

static inline int write_bad_clock(void *l)
{
    return timed(l, 1, CLOCK_THREAD_CPUTIME_ID, in_ns(CLOCK_MONOTONIC, SECOND));
}
