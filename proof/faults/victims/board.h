/* What a victim and the driver share: see src/board.rs, which has the same layout. */
#ifndef BOARD_H
#define BOARD_H
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8192, STATES = 8, CLOCK_STEPS = STATES - 1 };

/* Each thread writes its own line. */
struct line {
    _Atomic uint64_t done; /* updates that the thread says it made */
    _Atomic uint32_t tid;  /* 0: not begun, or over */
    _Atomic uint32_t gone; /* it is over, and its slot may be given to another */
    char pad[48];
};

struct board {
    _Atomic uint32_t stop;     /* the driver: come to an end */
    _Atomic uint32_t finished; /* the victim: the pair below is what came of it */
    _Atomic uint32_t holder;   /* the thread that has the lock, roughly; 0: nobody */
    _Atomic uint32_t hangs;    /* of children that the victim forked */
    _Atomic uint64_t tries;    /* faults that the victim made itself */
    _Atomic uint64_t broken;   /* two threads inside, or a wrong answer of a call */
    _Atomic uint64_t extra;    /* updates that the dead made and did not say, or that handlers made */
    uint64_t first, second;    /* the pair, changed under the lock and nowhere else */
    _Atomic uint64_t states[STATES]; /* how often which state was met, as the victim counts them */
    _Alignas(128) char locks[1024];  /* locks of several processes */
    struct line line[THREADS];
};

extern struct board *board;

static inline int going(void)
{
    return !atomic_load_explicit(&board->stop, memory_order_relaxed);
}

static inline void nap_us(long us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static inline int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static inline struct timespec in_us(long us)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += us % 1000000 * 1000;
    t.tv_sec += us / 1000000 + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* A wrong answer: said once per place and run. */
#define WRONG(...)                                                                                                     \
    do {                                                                                                               \
        if (atomic_fetch_add(&board->broken, 1) < 5) {                                                                 \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
        }                                                                                                              \
    } while (0)

#define EXPECT(call, answer)                                                                                           \
    do {                                                                                                               \
        int is_ = (call);                                                                                              \
        if (is_ != (answer))                                                                                           \
            WRONG("%s answers %d", #call, is_);                                                                        \
    } while (0)

/* Small, fast, and each thread's own. */
static inline uint32_t chance(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* The driver's board, which a descriptor that this program inherited refers to. */
static inline struct board *board_of(const char *descriptor)
{
    void *at = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(descriptor), 0);
    if (at == MAP_FAILED) {
        perror("cannot map the board");
        exit(2);
    }
    return at;
}

#endif
