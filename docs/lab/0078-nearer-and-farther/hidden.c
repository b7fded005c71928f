// How much of a cache line's way from another CPU an out-of-order CPU hides behind computing: sections around a word
// that the other CPU has just written, each with work before it and in it, beside the same sections on own lines.
// gcc -O2 -pthread hidden.c -o hidden && ./hidden
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { LINES = 128, ROUNDS = 60 };
struct line { _Alignas(128) atomic_uint word; uint64_t chain; };
static struct line lines[LINES];
static int order[LINES];
static _Alignas(128) atomic_int turn;

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static __attribute__((noinline)) uint64_t work(uint64_t x, int steps) {
    x |= 1;
    for (int i = 0; i < steps; i++) {
        x ^= x >> 29;
        x *= 0x9e3779b97f4a7c15;
    }
    return x;
}

static void *other(void *unused) {
    pin(1);
    for (int round = 0;; round++) {
        while (atomic_load(&turn) != 2 * round + 1)
            ;
        for (int i = 0; i < LINES; i++) {
            atomic_fetch_add(&lines[i].word, 0);
            lines[i].chain++;
        }
        atomic_store(&turn, 2 * round + 2);
    }
    return unused;
}

static uint64_t seed = 1;
// A section on each line: `before` steps, a locked add, `inside` steps that need the line, and the release.
static __attribute__((noinline)) void sections(int before, int inside, int locked) {
    uint64_t x = seed;
    for (int i = 0; i < LINES; i++) {
        struct line *line = &lines[order[i]];
        x = work(x, before);
        atomic_fetch_add(&line->word, 1);
        line->chain = work(line->chain, inside);
        if (locked)
            atomic_fetch_sub(&line->word, 1);
        else
            atomic_store_explicit(&line->word, 0, memory_order_release);
    }
    seed = x;
}

static double ticks_per_ns;
static double timed(int before, int inside, int locked) {
    _mm_lfence();
    uint64_t begin = __rdtsc();
    _mm_lfence();
    sections(before, inside, locked);
    _mm_lfence();
    return (double)(__rdtsc() - begin) / ticks_per_ns / LINES;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    uint64_t begin = __rdtsc();
    do
        clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec < 1e8);
    ticks_per_ns = (__rdtsc() - begin) / ((b.tv_sec - a.tv_sec) * 1e9 + b.tv_nsec - a.tv_nsec);
    for (int i = 0; i < LINES; i++)
        order[i] = i;
    for (int i = LINES - 1; i > 0; i--) {
        int j = rand() % (i + 1), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pin(0);
    int round = 0;
    int befores[] = {0, 16, 32, 64, 128, 320}, insides[] = {0, 32};
    puts("steps before, inside, release: on own lines, on the other's, difference (ns)");
    for (int locked = 0; locked < 2; locked++)
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 6; j++) {
                double miss[ROUNDS], hit[ROUNDS];
                for (int i = 0; i < ROUNDS; i++, round++) {
                    atomic_store(&turn, 2 * round + 1);
                    while (atomic_load(&turn) != 2 * round + 2)
                        ;
                    miss[i] = timed(befores[j], insides[k], locked);
                    timed(befores[j], insides[k], locked);
                    hit[i] = timed(befores[j], insides[k], locked);
                }
                qsort(miss, ROUNDS, sizeof *miss, by_size);
                qsort(hit, ROUNDS, sizeof *hit, by_size);
                double m = miss[ROUNDS / 2], h = hit[ROUNDS / 2];
                const char *release = locked ? "locked" : "store ";
                printf("%3d %2d %s %6.1f %6.1f %6.1f\n", befores[j], insides[k], release, h, m, m - h);
            }
}
