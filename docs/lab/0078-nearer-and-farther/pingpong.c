// What it takes until another CPU has seen a store, once a second: two threads store to one word in turn.
// gcc -O2 -pthread pingpong.c -o pingpong && ./pingpong 90
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TURNS = 20000 };
static _Alignas(128) atomic_long word;
static atomic_int stop;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void *other(void *unused) {
    pin(1);
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        long value = atomic_load(&word);
        if (value & 1)
            atomic_store_explicit(&word, value + 1, memory_order_release);
    }
    return unused;
}

int main(int count, char **arguments) {
    int seconds = count > 1 ? atoi(arguments[1]) : 60;
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pin(0);
    for (int i = 0; i < seconds; i++) {
        double begin = now();
        for (long k = 0; k < TURNS; k++) {
            long value = atomic_load(&word);
            atomic_store_explicit(&word, value + 1, memory_order_release);
            while (atomic_load(&word) != value + 2)
                ;
        }
        printf("%.0f ", (now() - begin) / TURNS / 2);
        fflush(stdout);
        nanosleep(&(struct timespec){1, 0}, 0);
    }
    stop = 1;
    puts("");
}
