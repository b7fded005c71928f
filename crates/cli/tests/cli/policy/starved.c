/*
 * Writers that follow each other without a gap, and a reader. Of a lock that prefers writers the C library lets no
 * reader in before the last writer; the adaptive lock lets in who waited for some milliseconds. Prints the
 * reader's turn since it asked: a count, which neither the machine's speed nor other load changes much.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { WRITERS = 3, MOST_TURNS = 60 };

static pthread_rwlock_t table = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static atomic_int writers_there, writes, turns, is_asking, has_read;

static void pause_ms(int ms)
{
    struct timespec time = {0, ms * 1000000L};
    nanosleep(&time, NULL);
}

static void *writer(void *unused)
{
    atomic_fetch_add(&writers_there, 1);
    while (!atomic_load(&has_read) && atomic_load(&turns) < MOST_TURNS) {
        pthread_rwlock_wrlock(&table);
        atomic_fetch_add(&writes, atomic_load(&writers_there) == WRITERS);
        atomic_fetch_add(&turns, atomic_load(&is_asking));
        pause_ms(1);
        pthread_rwlock_unlock(&table);
    }
    return unused;
}

int main(void)
{
    pthread_t writers[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        pthread_create(&writers[i], NULL, writer, NULL);
    /* Until all are there, and have had the time to queue. */
    while (atomic_load(&writes) < 2 * WRITERS)
        pause_ms(1);
    atomic_store(&is_asking, 1);
    pthread_rwlock_rdlock(&table);
    int turn = atomic_load(&turns) + 1;
    pthread_rwlock_unlock(&table);
    atomic_store(&has_read, 1);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(writers[i], NULL);
    printf("turn: %d\n", turn);
    return 0;
}
