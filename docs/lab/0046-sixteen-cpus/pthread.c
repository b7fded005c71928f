// pthread KIND THREADS INSIDE OUTSIDE MS: KIND m (mutex), r (rwlock read), w (rwlock write), x (nine reads to a write)
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static _Alignas(128) pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static _Alignas(128) volatile unsigned long data;
static _Alignas(128) atomic_int stop;
static char kind; static int inside, outside;
static unsigned long work(unsigned long x, int n) {
    while (n-- > 0) x = (x ^ (x >> 29)) * 0x9e3779b97f4a7c15ul;
    return x;
}
static void *run(void *arg) {
    unsigned long count = 0, x = (unsigned long)arg | 1;
    while (!stop) {
        int write = kind == 'w' || (kind == 'x' && count % 10 == 0);
        if (kind == 'm') { pthread_mutex_lock(&m); data = work(data, inside); pthread_mutex_unlock(&m); }
        else if (write) { pthread_rwlock_wrlock(&rw); data = work(data, inside); pthread_rwlock_unlock(&rw); }
        else { pthread_rwlock_rdlock(&rw); x += work(data, inside); pthread_rwlock_unlock(&rw); }
        x = work(x, outside); count++;
    }
    volatile unsigned long sink = x; (void)sink;
    return (void *)count;
}
int main(int argc, char **argv) {
    kind = argv[1][0]; int n = atoi(argv[2]); inside = atoi(argv[3]); outside = atoi(argv[4]);
    pthread_t t[256]; unsigned long sum = 0, least = -1ul, most = 0;
    struct timespec a, b, ms = { atoi(argv[5]) / 1000, atoi(argv[5]) % 1000 * 1000000L };
    for (long i = 0; i < n; i++) pthread_create(&t[i], 0, run, (void *)i);
    clock_gettime(CLOCK_MONOTONIC, &a); nanosleep(&ms, 0); stop = 1; clock_gettime(CLOCK_MONOTONIC, &b);
    for (int i = 0; i < n; i++) {
        void *result;
        pthread_join(t[i], &result);
        unsigned long count = (unsigned long)result;
        sum += count;
        if (count < least) least = count;
        if (count > most) most = count;
    }
    printf("%.1f %.2f\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / sum, (double)least / most);
}
