/* A million mutexes in one process, and many of the other objects: the state is in the objects, so their number must
   cost nothing but their memory. */
#include "check.h"

enum { MUTEXES = 1000000, OTHERS = 100000, THREADS = 4 };

struct cell {
    pthread_mutex_t mutex;
    int count;
};

static struct cell *cells;
static pthread_rwlock_t *rwlocks;
static pthread_cond_t *conds;
static pthread_mutex_t together = PTHREAD_MUTEX_INITIALIZER;

/* Half of them by init, half by zero bytes. */
static void make(void)
{
    cells = calloc(MUTEXES, sizeof *cells);
    rwlocks = calloc(OTHERS, sizeof *rwlocks);
    conds = calloc(OTHERS, sizeof *conds);
    CHECK(cells && rwlocks && conds);
    for (int i = 0; i < MUTEXES; i += 2)
        CHECK_EQ(pthread_mutex_init(&cells[i].mutex, NULL), 0);
    for (int i = 0; i < OTHERS; i += 2) {
        CHECK_EQ(pthread_rwlock_init(&rwlocks[i], NULL), 0);
        CHECK_EQ(pthread_cond_init(&conds[i], NULL), 0);
    }
}

/* Every thread visits every mutex, each in another order: a stride that shares no factor with the number. */
static void *visits(void *argument)
{
    static const long strides[THREADS] = {1, 999983, 7, 611953};
    long stride = strides[(long)argument];
    for (long i = 0, at = 0; i < MUTEXES; i++, at = (at + stride) % MUTEXES) {
        CHECK_EQ(pthread_mutex_lock(&cells[at].mutex), 0);
        cells[at].count++;
        CHECK_EQ(pthread_mutex_unlock(&cells[at].mutex), 0);
    }
    for (long i = 0; i < OTHERS; i++) {
        CHECK_EQ(i % 8 ? pthread_rwlock_rdlock(&rwlocks[i]) : pthread_rwlock_wrlock(&rwlocks[i]), 0);
        CHECK_EQ(pthread_rwlock_unlock(&rwlocks[i]), 0);
        CHECK_EQ(pthread_cond_signal(&conds[i]), 0);
    }
    return NULL;
}

/* One thread has all of them at once. */
static void hold_all(void)
{
    CHECK_EQ(pthread_mutex_lock(&together), 0);
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQ(pthread_mutex_lock(&cells[i].mutex), 0);
    for (int i = 0; i < MUTEXES; i += 997)
        CHECK_EQ(pthread_mutex_trylock(&cells[i].mutex), EBUSY);
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQ(pthread_mutex_unlock(&cells[i].mutex), 0);
    CHECK_EQ(pthread_mutex_unlock(&together), 0);
}

int main(void)
{
    pthread_t threads[THREADS];
    make();
    for (long i = 0; i < THREADS; i++)
        threads[i] = start(visits, (void *)i);
    for (int i = 0; i < THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQ(cells[i].count, THREADS);
    hold_all();
    for (int i = 0; i < MUTEXES; i++)
        CHECK_EQ(pthread_mutex_destroy(&cells[i].mutex), 0);
    for (int i = 0; i < OTHERS; i++) {
        CHECK_EQ(pthread_rwlock_destroy(&rwlocks[i]), 0);
        CHECK_EQ(pthread_cond_destroy(&conds[i]), 0);
    }
    return 0;
}
