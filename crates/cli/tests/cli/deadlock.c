// Threads that wait for each other: `pair`, `circle` (three), `own` (a thread on its own lock), `readers` (two that
// read and want to write), `writers` (two that write and want to read). When all sleep it says so, and ends itself by
// a signal; with a second argument it stays.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t table[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
static pthread_barrier_t all;
static const char *mode;
static int threads;
static _Atomic long asking[3];

static void first(int number) {
    if (!strcmp(mode, "readers"))
        pthread_rwlock_rdlock(&table[number]);
    else if (!strcmp(mode, "writers"))
        pthread_rwlock_wrlock(&table[number]);
    else
        pthread_mutex_lock(&lock[number]);
}

static void second(int number) {
    if (!strcmp(mode, "readers"))
        pthread_rwlock_wrlock(&table[number]);
    else if (!strcmp(mode, "writers"))
        pthread_rwlock_rdlock(&table[number]);
    else
        pthread_mutex_lock(&lock[number]);
}

static void *take_two(void *number) {
    int own = (int)(long)number;
    first(own);
    pthread_barrier_wait(&all);
    asking[own] = syscall(SYS_gettid);
    second((own + 1) % threads);
    return number;
}

static int sleeps(long thread) {
    char name[64], state = 0;
    snprintf(name, sizeof name, "/proc/self/task/%ld/stat", thread);
    FILE *file = thread ? fopen(name, "r") : NULL;
    if (file) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        fclose(file);
    }
    return state == 'S';
}

int main(int count, char **arguments) {
    pthread_t thread[3];
    mode = arguments[1];
    threads = !strcmp(mode, "circle") ? 3 : !strcmp(mode, "own") ? 1 : 2;
    pthread_barrier_init(&all, NULL, threads);
    for (long number = 0; number < threads; number++)
        pthread_create(&thread[number], NULL, take_two, (void *)number);
    for (int number = 0; number < threads; number++)
        while (!sleeps(asking[number]))
            usleep(1000);
    usleep(200000); // they have waited for a while
    puts("stuck");
    fflush(stdout);
    while (count > 2)
        pause();
    raise(SIGINT);
    return 0;
}
