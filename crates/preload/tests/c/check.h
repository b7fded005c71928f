/* What every test program needs. A failed check ends the program with status 1 and says where. */
#ifndef CHECK_H
#define CHECK_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

#define CHECK_EQ(actual, expected)                                                                                     \
    do {                                                                                                               \
        long a_ = (actual), e_ = (expected);                                                                           \
        if (a_ != e_) {                                                                                                \
            fprintf(stderr, "%s:%d: %s is %ld, not %s (%ld)\n", __FILE__, __LINE__, #actual, a_, #expected, e_);       \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

enum { MS = 1000000 };

/* `ns` from now (or before, if negative) on `clock`. */
static inline struct timespec in_ns(clockid_t clock, long long ns)
{
    struct timespec t;
    clock_gettime(clock, &t);
    ns += t.tv_nsec;
    t.tv_sec += ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    if (t.tv_nsec < 0) {
        t.tv_nsec += 1000000000;
        t.tv_sec--;
    }
    return t;
}

static inline long long now_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static inline void sleep_ms(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS};
    while (nanosleep(&t, &t) != 0) {
    }
}

static inline pthread_t start(void *(*body)(void *), void *argument)
{
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, body, argument), 0);
    return thread;
}

/* Runs `body` in a thread of its own and waits for it. */
static inline void in_thread(void *(*body)(void *), void *argument)
{
    CHECK_EQ(pthread_join(start(body, argument), NULL), 0);
}

/* How often to do something that contends: `n` times, or fewer under a spin lock, where a wait for a thread that is off
   its CPU costs a time slice. */
static inline int times(int n)
{
    const char *policy = getenv("TURNWISE_LOCK");
    return policy && strcmp(policy, "adaptive") != 0 ? n / 50 + 1 : n;
}

/* Whether the library under test is loaded, in programs that look into an object. */
static inline int preloaded(void)
{
    return getenv("TURNWISE_LOCK") != NULL;
}
#endif
