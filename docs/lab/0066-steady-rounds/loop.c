/* A loop of threads on one mutex. Usage: loop THREADS INSIDE_NS OUTSIDE_NS LINES SECONDS: in each section it writes
 * LINES cache lines. Prints the time for a section. Build: gcc -O2 -pthread -o loop loop.c */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

enum { MOST = 64, MOST_LINES = 1024 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    volatile long value;
    char rest[120];
} lines[MOST_LINES];
static double ticks_per_ns;
static int inside, outside, written;
static volatile int stop;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work(int ns) {
    if (ns == 0)
        return;
    uint64_t end = __rdtsc() + (uint64_t)(ns * ticks_per_ns);
    while (__rdtsc() < end)
        ;
}

static void *run(void *unused) {
    (void)unused;
    long sections = 0;
    for (; !stop; sections++) {
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < written; i++)
            lines[i].value++;
        work(inside);
        pthread_mutex_unlock(&mutex);
        work(outside);
    }
    return (void *)sections;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: loop THREADS INSIDE_NS OUTSIDE_NS LINES SECONDS\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    inside = atoi(argv[2]), outside = atoi(argv[3]), written = atoi(argv[4]);
    double seconds = atof(argv[5]);
    if (threads < 1 || threads > MOST || inside < 0 || outside < 0 || written < 0 || written > MOST_LINES
        || seconds <= 0) {
        fprintf(stderr, "loop: 1 to %d threads, 0 to %d lines, times above 0\n", MOST, MOST_LINES);
        return 2;
    }
    double begin = now();
    uint64_t ticks = __rdtsc();
    while (now() < begin + 0.02)
        ;
    ticks_per_ns = (double)(__rdtsc() - ticks) / 0.02e9;
    pthread_t thread[MOST];
    begin = now();
    for (int i = 0; i < threads; i++)
        if (pthread_create(&thread[i], NULL, run, NULL))
            return 1;
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
    stop = 1;
    long sections = 0;
    for (int i = 0; i < threads; i++) {
        void *part;
        pthread_join(thread[i], &part);
        sections += (long)part;
    }
    printf("%.1f ns\n", (now() - begin) * 1e9 / (double)sections);
    return 0;
}
