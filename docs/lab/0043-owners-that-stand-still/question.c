/* What a question for another thread's CPU time takes, while that thread sleeps and while it runs.
 * cc -O2 -pthread -o question question.c && ./question */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static volatile int runs;

static void *other(void *unused)
{
    while (!runs)
        usleep(1000);
    while (runs)
        ;
    return unused;
}

static double question_ns(clockid_t clock)
{
    enum { TIMES = 200000 };
    struct timespec begin, end, time;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < TIMES; i++)
        clock_gettime(clock, &time);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / TIMES;
}

int main(void)
{
    pthread_t thread;
    clockid_t clock;
    pthread_create(&thread, NULL, other, NULL);
    pthread_getcpuclockid(thread, &clock);
    double asleep = question_ns(clock);
    runs = 1;
    usleep(20000);
    double running = question_ns(clock);
    runs = 0;
    pthread_join(thread, NULL);
    printf("asleep %.0f ns, running %.0f ns\n", asleep, running);
    return 0;
}
