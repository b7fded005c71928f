// Waits for a mutex as it is told on its input, and says when it has done so.
//
// w N: N threads wait for `gate` once each, which the main thread has meanwhile, until all have slept for 20 ms; they
//      are new ones each time
// f:   forks; the child does the same with two threads, says so, and ends when its input does
#define _GNU_SOURCE
#include "sleeps.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 64 };
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static volatile long passed;
static atomic_int tids[THREADS];

static __attribute__((noinline)) void pass_gate(void) {
    pthread_mutex_lock(&gate);
    passed++;
    // Who comes behind waits for this thread, too.
    usleep(2000);
    pthread_mutex_unlock(&gate);
}

static __attribute__((noinline)) void walk_up(void) {
    pass_gate();
    passed++;
}

static void *walker(void *tid) {
    *(atomic_int *)tid = my_tid();
    walk_up();
    return NULL;
}

static void wait_with(int threads) {
    pthread_t thread[THREADS];
    pthread_mutex_lock(&gate);
    for (int i = 0; i < threads; i++) {
        tids[i] = 0;
        pthread_create(&thread[i], NULL, walker, &tids[i]);
    }
    for (int i = 0; i < threads; i++)
        await_asleep(&tids[i]);
    usleep(20000);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
}

int main(void) {
    char line[64];
    setvbuf(stdout, NULL, _IONBF, 0);
    while (fgets(line, sizeof line, stdin)) {
        if (line[0] == 'w') {
            wait_with(atoi(line + 1));
            printf("waited %d\n", getpid());
        } else if (line[0] == 'f') {
            pid_t child = fork();
            if (child == 0) {
                wait_with(2);
                printf("forked %d\n", getpid());
                pause();
                _exit(0);
            }
        }
    }
    return 0;
}
