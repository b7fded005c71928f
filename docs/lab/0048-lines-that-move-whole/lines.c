// What 128 lines cost after a script of turns, and what sections gain that overlap with what comes after them.
// A script has a CPU and an act in turn: M changes, W stores to, R reads every line; X, S, L do so too and are timed.
// cc -O2 -pthread lines.c -o lines && ./lines
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

enum { LINES = 128, ROUNDS = 150, BATCHES = 15, OPS = 100000 };

struct slot {
    struct slot *_Atomic next;
    _Atomic uint64_t count;
} __attribute__((aligned(128)));

static struct slot slots[LINES];
static int order[LINES + 1], samples;
static _Atomic int turn;
static const char *script;
static double out[ROUNDS];

static double ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double timed(void (*act)(int), int what)
{
    _mm_lfence();
    double begin = ns();
    act(what);
    _mm_lfence();
    return ns() - begin;
}

// Each touch decides where the next one is: the CPU cannot begin with it early.
static __attribute__((noinline)) void touch(int act)
{
    uint64_t skip = 0;
    struct slot *at = &slots[order[0]];
    for (int i = 0; i < LINES; i++) {
        _Atomic uint64_t *count = &slots[order[i + skip]].count;
        if (act == 'L') {
            at = atomic_load_explicit(&at->next, memory_order_relaxed);
        } else if (act == 'X' || act == 'M') {
            skip = atomic_fetch_add(count, 1) >> 63;
        } else if (act == 'S') { // half of a word, then the whole: the load waits until the store has its line
            *(volatile uint32_t *)count = 1;
            skip = *(volatile uint64_t *)count >> 63;
        } else if (act == 'W') {
            *(volatile uint64_t *)count = 1;
        } else {
            skip = *(volatile uint64_t *)count >> 63;
        }
    }
    __asm__ volatile("" ::"r"(at), "r"(skip));
}

static void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *member(void *number)
{
    int me = (intptr_t)number, turns = strlen(script) / 2;
    pin(me);
    for (int t = 0; t < ROUNDS * turns; t++) {
        const char *step = script + t % turns * 2;
        if (step[0] - 'a' != me)
            continue;
        while (atomic_load(&turn) != t)
            _mm_pause();
        if (strchr("LXS", step[1])) {
            double miss = timed(touch, step[1]), hit = 1e9;
            for (int again = 0; again < 3; again++) {
                double one = timed(touch, step[1]);
                hit = one < hit ? one : hit;
            }
            out[samples++] = (miss - hit) / LINES;
        } else {
            touch(step[1]);
        }
        atomic_store(&turn, t + 1);
    }
    return number;
}

static int by_size(const void *a, const void *b)
{
    double more = *(const double *)a - *(const double *)b;
    return (more > 0) - (more < 0);
}

static void play(const char *turns)
{
    pthread_t threads[2];
    script = turns;
    turn = samples = 0;
    for (intptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, member, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    qsort(out, samples, sizeof *out, by_size);
    printf("%-10s beyond a hit %6.1f ns (%.1f to %.1f)\n", turns, out[samples / 2], out[samples / 4],
           out[samples * 3 / 4]);
}

static __attribute__((noinline)) uint64_t work(uint64_t x, unsigned steps)
{
    for (x |= 1; steps; steps--) {
        x ^= x >> 29;
        x *= 0x9e3779b97f4a7c15u;
    }
    return x;
}

// One thread takes a lock that nobody else wants.
static void sections(unsigned inside, unsigned outside)
{
    static struct {
        _Atomic uint32_t word;
        uint64_t chain;
    } lock __attribute__((aligned(128)));
    double all[BATCHES];
    uint64_t local = 1;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = ns();
        for (int i = 0; i < OPS; i++) {
            uint32_t is_free = 0;
            atomic_compare_exchange_strong(&lock.word, &is_free, 1);
            lock.chain = work(lock.chain, inside);
            __asm__ volatile("" ::: "memory");
            atomic_exchange(&lock.word, 0);
            local = work(local, outside);
            __asm__ volatile("" : "+r"(local));
        }
        all[batch] = (ns() - begin) / OPS;
    }
    qsort(all, BATCHES, sizeof *all, by_size);
    printf("%3u steps inside, %3u outside: %.1f ns (%.1f to %.1f)\n", inside, outside, all[BATCHES / 2], all[0],
           all[BATCHES - 1]);
}

int main(void)
{
    for (int i = 0; i < LINES; i++)
        order[i] = i * (i + 1) / 2 % LINES; // every line once
    order[LINES] = order[LINES - 1];
    for (int i = 0; i < LINES; i++)
        slots[order[i]].next = &slots[order[(i + 1) % LINES]];
    const char *scripts[] = {"bMaL", "bMaX", "bMaS", "bMaRaX", "bMaRaS", "bWaRaX", "bMaRbL", "bMaRbX", "bMaRbRaX",
                             "bMaRbRbX"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        play(scripts[i]);
    pin(0);
    // 37 steps take 50 ns on the EPYC that this was written on.
    unsigned pairs[][2] = {{0, 0}, {37, 0}, {0, 74}, {37, 37}, {37, 74}, {74, 37}, {74, 74}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        sections(pairs[i][0], pairs[i][1]);
}
