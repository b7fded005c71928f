// contend THREADS: threads that take one mutex again and again for 150 ms; prints how often they had it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int stop;
static volatile long data;
static long had[64];

static void work(int rounds)
{
    for (volatile int i = 0; i < rounds; i++)
        ;
}

static void *contend(void *argument)
{
    long n = 0;
    for (; !stop; n++) {
        pthread_mutex_lock(&mutex);
        data++;
        work(20);
        pthread_mutex_unlock(&mutex);
        work(40);
    }
    had[(long)argument] = n;
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 0;
    if (threads < 1 || threads > 64)
        return 2;
    pthread_t thread[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, contend, (void *)i);
    nanosleep(&(struct timespec){0, 150000000}, NULL);
    stop = 1;
    long sum = 0;
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        sum += had[i];
    }
    printf("%ld\n", sum);
    return 0;
}
