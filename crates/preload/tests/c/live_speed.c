/* What the live view costs: `live_speed KIND THREADS INSIDE OUTSIDE SECONDS`; KIND is mutex, rwlock or spin, INSIDE and
   OUTSIDE are rounds of an empty loop. Prints sections a second: run it with TURNWISE_LIVE=0 and without, in turns. Not
   a test of speed: run as a test, it checks that nothing is lost. */
#include "check.h"
#include <stdatomic.h>

enum { THREADS_MAX = 64 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static atomic_int is_over;
static int inside, outside;
static char kind;
static volatile long shared;

/* On cache lines of their own. */
static struct {
    long sections;
    char apart[120];
} threads[THREADS_MAX];

static void rounds(int count)
{
    for (int i = 0; i < count; i++)
        __asm__ volatile("" ::: "memory");
}

/* The first thread always writes, the others one time in 16. */
static void section_of_rwlock(int writes)
{
    CHECK((writes ? pthread_rwlock_wrlock : pthread_rwlock_rdlock)(&rwlock) == 0);
    if (writes)
        shared++;
    rounds(inside);
    CHECK(pthread_rwlock_unlock(&rwlock) == 0);
}

static void section(int writes)
{
    if (kind == 'r') {
        section_of_rwlock(writes);
        return;
    }
    CHECK((kind == 'm' ? pthread_mutex_lock(&mutex) : pthread_spin_lock(&spinlock)) == 0);
    shared++;
    rounds(inside);
    CHECK((kind == 'm' ? pthread_mutex_unlock(&mutex) : pthread_spin_unlock(&spinlock)) == 0);
}

static void *run(void *argument)
{
    long number = (long)argument, sections = 0;
    for (unsigned random = number * 7919 + 1; !atomic_load_explicit(&is_over, memory_order_relaxed); sections++) {
        random = random * 1664525 + 1013904223;
        section(number == 0 || random >> 28 == 0);
        rounds(outside);
    }
    threads[number].sections = sections;
    return NULL;
}

int main(int count, char **arguments)
{
    pthread_t ids[THREADS_MAX];
    char *defaults[] = {NULL, "mutex", "8", "5", "20", "0.1"};
    if (count == 1)
        arguments = defaults;
    else
        CHECK(count == 6);
    int number = atoi(arguments[2]);
    double seconds = atof(arguments[5]), sum = 0;
    CHECK(number > 0 && number <= THREADS_MAX && seconds > 0);
    kind = arguments[1][0];
    inside = atoi(arguments[3]);
    outside = atoi(arguments[4]);
    CHECK(pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE) == 0);
    for (long i = 0; i < number; i++)
        CHECK(pthread_create(&ids[i], NULL, run, (void *)i) == 0);
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
    is_over = 1;
    for (int i = 0; i < number; i++) {
        CHECK(pthread_join(ids[i], NULL) == 0);
        sum += threads[i].sections;
    }
    CHECK(kind == 'r' || (double)shared == sum);
    printf("%.0f\n", sum / seconds);
    return 0;
}
