// cc -O2 -pthread membarrier.c -o membarrier: what MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ costs.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RSEQ = 1 << 7, REGISTER = 1 << 8, TIMES = 3000 };

static volatile int stop;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static long membarrier(int command) { return syscall(SYS_membarrier, command, 0, 0); }

static void *busy(void *unused) {
    while (!stop)
        ;
    return unused;
}

static void *idle(void *unused) {
    while (!stop)
        usleep(50000);
    return unused;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run(const char *what, void *(*body)(void *), int others) {
    static double ns[TIMES];
    pthread_t threads[8];
    int failed = 0;
    stop = 0;
    for (int i = 0; i < others; i++)
        pthread_create(&threads[i], NULL, body, NULL);
    usleep(20000);
    for (int i = 0; i < TIMES; i++) {
        double begin = now();
        failed += membarrier(RSEQ) != 0;
        ns[i] = now() - begin;
    }
    stop = 1;
    for (int i = 0; i < others; i++)
        pthread_join(threads[i], NULL);
    qsort(ns, TIMES, sizeof *ns, compare);
    printf("%d others, %s: median %.0f ns, 90%% %.0f, 99%% %.0f, longest %.0f, failed %d\n", others, what,
           ns[TIMES / 2], ns[TIMES * 9 / 10], ns[TIMES * 99 / 100], ns[TIMES - 1], failed);
}

int main(void) {
    printf("unregistered: %ld, errno %d\n", membarrier(RSEQ), errno);
    double begin = now();
    long registered = membarrier(REGISTER);
    printf("register: %ld, %.0f ns\n", registered, now() - begin);
    fflush(stdout);
    if (fork() == 0) {
        printf("in a child: %ld\n", membarrier(RSEQ));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    run("asleep", idle, 0);
    run("asleep", idle, 1);
    run("asleep", idle, 7);
    run("busy", busy, 1);
    run("busy", busy, 7);
}
