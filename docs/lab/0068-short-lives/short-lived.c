/* What a thread pays that knows nothing of its lock: threads on one mutex that live for SECTIONS sections each, and are
 * replaced. Usage: short-lived THREADS SECTIONS INSIDE_US SLEEPS SECONDS; SLEEPS: 0: sections are busy, 1: they sleep.
 * Prints time and CPU time for a section, in microseconds, and the system calls of the process that switched its CPU.
 * Build: gcc -O2 -pthread -o short-lived short-lived.c */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 64 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sections_each;
static int inside_us, sleeps;
static volatile int stop;
static long sections;

static double seconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void work(void) {
    if (sleeps) {
        struct timespec time = {0, inside_us * 1000L};
        nanosleep(&time, NULL);
        return;
    }
    double end = seconds_of(CLOCK_MONOTONIC) + inside_us / 1e6;
    while (seconds_of(CLOCK_MONOTONIC) < end)
        ;
}

static void *live(void *unused) {
    (void)unused;
    for (long i = 0; i < sections_each && !stop; i++) {
        pthread_mutex_lock(&mutex);
        work();
        sections++;
        pthread_mutex_unlock(&mutex);
    }
    return NULL;
}

/* Starts one thread after another, so that there is one of them all the time. */
static void *place(void *unused) {
    (void)unused;
    while (!stop) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live, NULL))
            exit(1);
        pthread_join(thread, NULL);
    }
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        fprintf(stderr, "usage: short-lived THREADS SECTIONS INSIDE_US SLEEPS SECONDS\n");
        return 2;
    }
    int threads = atoi(argv[1]);
    sections_each = atol(argv[2]);
    inside_us = atoi(argv[3]), sleeps = atoi(argv[4]);
    double seconds = atof(argv[5]);
    if (threads < 1 || threads > MOST || sections_each < 1 || inside_us < 0 || inside_us > 100000 || seconds <= 0) {
        fprintf(stderr, "short-lived: 1 to %d threads, 1 section or more, 0 to 100000 us, time above 0\n", MOST);
        return 2;
    }
    pthread_t places[MOST];
    double begin = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < threads; i++)
        if (pthread_create(&places[i], NULL, place, NULL))
            return 1;
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
    stop = 1;
    for (int i = 0; i < threads; i++)
        pthread_join(places[i], NULL);
    double took = seconds_of(CLOCK_MONOTONIC) - begin;
    cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double n = (double)sections;
    printf("time %.3f us, CPU %.3f us, switches %.3f\n", took * 1e6 / n, cpu * 1e6 / n, (double)usage.ru_nvcsw / n);
    return 0;
}
